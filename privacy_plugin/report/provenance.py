"""Provenance: the data, the roles of its columns, the policy, what was assumed, and the certificate."""

import platform
from collections.abc import Mapping
from typing import Any

import privacy_plugin
from privacy_plugin.gate.verdict import Verdict
from privacy_plugin.markup import Child, Markup, definitions, element, section, table
from privacy_plugin.metrics.registry import SECOND_TABLES
from privacy_plugin.policy.policy import ORIGINAL_NOT_JUDGED
from privacy_plugin.report.content import ReportContent
from privacy_plugin.requirements.rules import WITHHELD

_ROLE_WORDS = {
    "identifier": "identifies a person; never released",
    "quasi_identifier": "an attacker is assumed to know it",
    "sensitive": "what an attacker would like to know",
    "insensitive": "assumed neither known to an attacker nor worth knowing",
    "unit": "ties the rows of one person together; never released",
}


def provenance(content: ReportContent) -> Markup:
    """Identify exactly what the verdicts are about."""
    policy, final = content.policy, content.final
    pairs: list[tuple[str, Child]] = [
        ("Dataset", policy.dataset),
        *([("Partition", final.partition)] if final.partition else []),
        ("Rows", ", ".join(f"{counted(verdict)} ({label})" for label, verdict in content.verdicts)),
        ("Judged at", ", ".join(f"{verdict.judged_at} ({label})" for label, verdict in content.verdicts)),
        ("Privacy unit", _unit(policy.source_rules.unit)),
        *([("One row a person", _people(policy.people))] if policy.people else []),
        ("Policy digest", element("code", policy.digest)),
        (
            "Fingerprint of the data",
            _fingerprint(final, certified=content.certificate is not None),
        ),
        ("Made with", f"privacy-plugin {privacy_plugin.__version__}, Python {platform.python_version()}"),
    ]
    notes = dict.fromkeys(note for _, verdict in content.verdicts for note in verdict.notes)
    if policy.is_randomized:
        notes[ORIGINAL_NOT_JUDGED] = None
    return section(
        "What was judged",
        definitions(pairs),
        table("Columns and their roles", ["column", "role", "which means", "hierarchy"], _columns(content)),
        element("h3", "Assumptions"),
        element("ul", [element("li", words) for words in _assumptions(content)]),
        [element("p", note, class_="callout") for note in notes],
        identifier="judged",
    )


def _unit(unit: str | None) -> str:
    return f"a person, found by the column {unit!r}" if unit else "a row; every person is assumed to have exactly one"


def _people(people: Mapping[str, Any]) -> str:
    """Return what each column of several rows became."""
    functions = {n: f if isinstance(f, str) else " by ".join(*f.items()) for n, f in people.items()}
    return ", ".join(f"{name}: {function}" for name, function in functions.items())


def _fingerprint(final: Verdict, *, certified: bool) -> list[Child]:
    taken = final.fingerprint
    if taken is None:
        return ["in the certificate" if certified else "not taken"]
    if not final.passed:
        return ["not shown: it would let a reader try guesses of rows that are not released"]
    return [element("code", taken.digest), f" ({taken.scheme})"]


def _columns(content: ReportContent) -> list[list[Child]]:
    hierarchies = content.policy.hierarchies
    return [
        [
            element("code", name),
            role.replace("_", "-"),
            _ROLE_WORDS[role],
            _levels(hierarchies[name].height) if name in hierarchies else "none",
        ]
        for name, role in content.policy.roles.items()
    ]


def _levels(height: int) -> str:
    return "1 level" if height == 1 else f"{height} levels"


def counted(verdict: Verdict) -> str:
    """Write the number of rows, or that the gate shut before they were counted."""
    return f"{verdict.rows:,}" if verdict.rows else "not counted"


def _assumptions(content: ReportContent) -> list[str]:
    policy = content.policy
    known, insensitive = policy.quasi_identifiers, policy.source_rules.columns("insensitive")
    words = [f"An attacker may know all of: {', '.join(known)}; and whether a person is in the table."]
    if insensitive:
        words.append(
            f"An attacker does not know: {', '.join(insensitive)}. If an attacker may know one, declare it a "
            "quasi-identifier."
        )
    withheld = [name for name, role in policy.roles.items() if role in WITHHELD]
    if withheld:
        words.append(f"Not part of the release: {', '.join(withheld)}.")
    words.append("Missing is a category of its own: it equals missing and nothing else. So is * (suppressed).")
    if policy.population:
        uses = {r.definition.second_table for r in policy.requirements} - {None}
        words += [f"Compared with {policy.population!r}: {SECOND_TABLES[str(use)]}." for use in uses]
    return words


def certificate_section(content: ReportContent) -> Markup:
    """Show what the certificate signs, against which the release step checks the table."""
    certificate = content.certificate
    if certificate is None:
        return Markup("")
    signed = certificate.content
    fingerprint = signed.get("fingerprint") or {}
    people, population = signed.get("people_fingerprint"), signed.get("population_fingerprint")
    versions = signed.get("versions") or {}
    pairs: list[tuple[str, Child]] = [
        ("Verdict", "passed" if certificate.passed else "refused: nothing may be released"),
        ("Dataset", str(signed.get("dataset"))),
        *([("Partition", str(signed.get("partition")))] if signed.get("partition") else []),
        ("Judged at", str(signed.get("judged_at"))),
        ("Rows", f"{signed.get('rows', 0):,}"),
        ("Policy digest", element("code", str(signed.get("policy_digest")))),
        ("Fingerprint", element("code", str(fingerprint.get("digest", "none")))),
        *([("Fingerprint with the unit, sealed", element("code", str(people["digest"])))] if people else []),
        *(
            [("Fingerprint of the population, sealed", element("code", str(population["digest"])))]
            if population
            else []
        ),
        *([("Valid until", certificate.valid_until)] if certificate.valid_until else []),
        ("Signed with key", element("code", ", ".join(certificate.key_ids))),
        ("Signature", element("code", certificate.signature)),
        ("Versions", ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))),
    ]
    return section(
        "Certificate",
        element(
            "p",
            "The release step computes the fingerprint of the copy that it publishes and compares it with this "
            "certificate: other data, another policy or a changed certificate cannot be released. Where people are "
            "counted by a unit column, a population is compared with or a budget is limited, it checks those again; "
            "what is not released is sealed with a secret of the signer, so that a reader cannot try guesses of the "
            "rows. Everyone who has the public key can check the signature (Ed25519) and the released table: "
            "privacy-plugin verify.",
        ),
        definitions(pairs),
        identifier="certificate",
    )


def sign_off(content: ReportContent) -> Markup:
    """Give the person who decides a block to sign, with the digests that the signature is about."""
    final = content.final
    decision = "release" if final.passed else "keep closed"
    pairs: list[tuple[str, Child]] = [
        ("The gate", f"{'open' if final.passed else 'closed'}; proposed decision: {decision}"),
        ("Policy digest", element("code", content.policy.digest)),
        ("Fingerprint of the data", _fingerprint(final, certified=content.certificate is not None)),
        ("Judged at", final.judged_at),
        ("Open clauses", _open_clauses(final)),
    ]
    blanks = [(name, element("span", class_="blank")) for name in ("Decision", "Name and role", "Date", "Signature")]
    return section(
        "Sign-off",
        element(
            "p",
            "The signature is about the data and the policy with these digests, and nothing else. Print this page, or "
            "save it as PDF, with your browser.",
        ),
        definitions([*pairs, *blanks]),
        identifier="sign-off",
    )


def _open_clauses(final: Verdict) -> str:
    waiting = [f"{each.clause.pack}, {each.clause.name}" for each in final.clauses if each.status == "open"]
    return "; ".join(waiting) or "none"
