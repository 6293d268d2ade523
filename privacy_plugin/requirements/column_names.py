"""Roles suggested by column names: a hint for the reviewer, never a decision.

English, German and French words; accents and case are ignored. German compounds are searched for parts of words too,
the last part first: a Versichertennummer is a number, not a person.
"""

import re
import unicodedata

_IDENTIFIERS = """id uid identifier uuid guid name fullname firstname lastname surname email mail phone
telephone mobile fax ssn passport iban mrn licence license plate address street username login password ip
account insured signature
vorname nachname familienname zuname rufname geburtsname benutzername kennung mailadresse tel telefon handy
natel anschrift adresse strasse hausnummer nummer nr ausweis konto kontonummer passwort kennzeichen ahv svnr
versichertennummer unterschrift
nom prenom identifiant matricule courriel telephone portable adresse rue numero passeport compte utilisateur
immatriculation"""

_SENSITIVE = """diagnosis diagnoses disease illness condition icd symptom treatment therapy medication drug
drugs hiv disability pregnancy outcome salary income wage pay debt credit balance religion belief political
party orientation conviction offence offense crime
diagnose krankheit befund symptom behandlung therapie medikament medikamente behinderung schwangerschaft
blutgruppe gehalt einkommen lohn schulden vermoegen vermogen konfession partei gewerkschaft straftat vorstrafe
diagnostic maladie symptome traitement medicament handicap grossesse salaire revenu dette solde croyance parti
syndicat condamnation infraction"""

_QUASI_IDENTIFIERS = """age sex gender birth birthday birthdate dob born date day year month zip zipcode
postcode postal plz city town village municipality county district region state province country location
latitude longitude nationality citizenship race ethnicity ethnic origin occupation job profession employer
education degree school marital language household children admission discharge visit height weight
alter lebensalter geschlecht geburt geburtsort geburtstag geburtsdatum geburtsjahr jahrgang datum tag jahr monat
postleitzahl ort wohnort ortschaft stadt gemeinde bezirk kreis kanton land bundesland landkreis herkunft
nationalitat nationalitaet staatsangehorigkeit staatsangehoerigkeit staatsburgerschaft staatsbuergerschaft rasse
ethnie beruf tatigkeit taetigkeit arbeitgeber ausbildung abschluss schule familienstand zivilstand sprache haushalt
kinder aufnahme entlassung besuch grosse groesse gewicht krankenkasse krankenversicherung station abteilung
sexe genre naissance annee mois jour ville commune quartier departement canton pays lieu nationalite ethnie
origine metier emploi employeur formation diplome ecole civil matrimonial langue menage enfants sortie visite
taille poids"""

_PEOPLE = """id uid identifier uuid guid mrn person patient customer user member client subject employee student
account
patientin kunde kundin nutzer mitglied mitarbeiter versicherte personne utilisateur membre assure employe eleve"""

_POSTCODES = """zip zipcode postcode postal plz postleitzahl"""
_AGES = """age alter lebensalter"""

_IDENTIFIER_PARTS = "nummer kennung adresse anschrift strasse telefon ausweis kennzeichen passwort"
_SENSITIVE_PARTS = """diagnose krankheit erkrankung befund medikament therapie behandlung behinderung einkommen
gehalt schuld vermogen vermoegen straftat"""
_QUASI_IDENTIFIER_PARTS = """datum geburt geschlecht stadt gemeinde beruf jahr monat sprache angehorigkeit
angehoerigkeit herkunft aufnahme entlassung schule grosse groesse gewicht versicherung"""
_PEOPLE_PARTS = "patient kunden mitglied mitarbeiter versichert"

# Short parts (ort, tag, land) are not listed: "report" and "vintage" contain them too.

_Roles = frozenset[str]


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_WORDS = {
    "identifier": _words(_IDENTIFIERS),
    "sensitive": _words(_SENSITIVE),
    "quasi_identifier": _words(_QUASI_IDENTIFIERS),
}
_PARTS = {
    "identifier": _words(_IDENTIFIER_PARTS),
    "sensitive": _words(_SENSITIVE_PARTS),
    "quasi_identifier": _words(_QUASI_IDENTIFIER_PARTS),
}


def tokens(name: str) -> frozenset[str]:
    """Split a column's name into lower-case words without accents.

    >>> sorted(tokens("patientBirth_Date")), sorted(tokens("Straße, état civil"))
    (['birth', 'date', 'patient'], ['civil', 'etat', 'strasse'])
    """
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", plain)
    return frozenset(word.casefold() for word in re.split(r"[\W_]+", parted) if word)


def suggested_roles(name: str) -> _Roles:
    """Return every role that a word of the name, or a part of a word, suggests.

    >>> sorted(suggested_roles("Aufnahmedatum")), sorted(suggested_roles("disease_year")), sorted(suggested_roles("x"))
    (['quasi_identifier'], ['quasi_identifier', 'sensitive'], [])
    """
    return frozenset(role for token in tokens(name) for role in _roles_of(token))


def _roles_of(token: str) -> _Roles:
    whole = frozenset(role for role, words in _WORDS.items() if token in words)
    last = frozenset(role for role, parts in _PARTS.items() if token.endswith(tuple(parts)))
    first = frozenset(role for role, parts in _PARTS.items() if token.startswith(tuple(parts)))
    return whole or last or first


def suggests_identifier(name: str) -> bool:
    """Return whether a name suggests an identifier and no other role."""
    return suggested_roles(name) == {"identifier"}


def suggests_person(name: str) -> bool:
    """Return whether a name suggests a key of people."""
    parts = tuple(_words(_PEOPLE_PARTS))
    return any(token in _words(_PEOPLE) or token.startswith(parts) for token in tokens(name))


def is_known(name: str) -> bool:
    """Return whether most words of a name occur in column names; an address has at most one such word.

    >>> is_known("date_naissance"), is_known("12 rue de la Paix"), is_known("Bahnhofstrasse")
    (True, False, False)
    """
    found = [any(word in words for words in (*_WORDS.values(), _words(_PEOPLE))) for word in tokens(name)]
    return 2 * sum(found) > len(found)


def suggests_age(name: str) -> bool:
    """Return whether a name suggests an age."""
    return bool(tokens(name) & _words(_AGES))


def suggests_postcode(name: str) -> bool:
    """Return whether a name suggests a postcode, whose digits are a code and not a number."""
    return bool(tokens(name) & _words(_POSTCODES))
