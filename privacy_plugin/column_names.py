"""What a column's name suggests about its role: a hint for a person who reviews it, never a decision."""

import re

_IDENTIFIERS = """id identifier uuid guid name firstname lastname surname email mail phone telephone mobile fax ssn
passport iban mrn licence license plate address street username login ip account insured"""

_SENSITIVE = """diagnosis diagnoses disease illness condition icd symptom treatment therapy medication drug drugs hiv
disability pregnancy outcome salary income wage pay debt credit balance religion belief political party orientation
conviction offence offense crime"""

_QUASI_IDENTIFIERS = """age sex gender birth birthday birthdate dob born date day year month zip zipcode postcode
postal plz city town village municipality county district region state province country location latitude longitude
nationality citizenship race ethnicity ethnic origin occupation job profession employer education degree school
marital language household children admission discharge visit height weight"""

_PEOPLE = """id identifier uuid guid mrn person patient customer user member client subject employee student account"""

_POSTCODES = """zip zipcode postcode postal plz"""


def tokens(name: str) -> frozenset[str]:
    """Split a column's name into lower-case words.

    >>> sorted(tokens("patientBirth_Date"))
    ['birth', 'date', 'patient']
    """
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return frozenset(word.lower() for word in re.split(r"[^0-9A-Za-z]+", parted) if word)


def suggests_identifier(name: str) -> bool:
    """Tell whether a name is that of something that identifies a person, and of nothing else."""
    others = _words(_SENSITIVE) | _words(_QUASI_IDENTIFIERS)
    return bool(tokens(name) & _words(_IDENTIFIERS)) and not tokens(name) & others


def suggests_person(name: str) -> bool:
    """Tell whether a name is that of a key of people."""
    return bool(tokens(name) & _words(_PEOPLE))


def suggests_sensitive(name: str) -> bool:
    """Tell whether a name is that of something people would rather keep to themselves."""
    return bool(tokens(name) & _words(_SENSITIVE))


def suggests_quasi_identifier(name: str) -> bool:
    """Tell whether a name is that of something that others know of a person."""
    return bool(tokens(name) & _words(_QUASI_IDENTIFIERS))


def is_known(name: str) -> bool:
    """Tell whether a name suggests any role."""
    return suggests_identifier(name) or suggests_sensitive(name) or suggests_quasi_identifier(name)


def suggests_age(name: str) -> bool:
    """Tell whether a name is that of an age."""
    return "age" in tokens(name)


def suggests_postcode(name: str) -> bool:
    """Tell whether a name is that of a postcode, whose digits are no number."""
    return bool(tokens(name) & _words(_POSTCODES))


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())
