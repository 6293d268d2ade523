"""The certificate: what whoever releases the table checks against it."""

from privacy_plugin.report.content import ReportContent
from privacy_plugin.report.markup import Child, Markup, definitions, element, section


def certified(content: ReportContent) -> Markup:
    """Show what was signed."""
    certificate = content.certificate
    if certificate is None:
        return Markup("")
    signed = certificate.content
    fingerprint = signed.get("fingerprint") or {}
    people, population = signed.get("people_fingerprint"), signed.get("population_fingerprint")
    versions = signed.get("versions") or {}
    pairs: list[tuple[str, Child]] = [
        ("Says", "passed" if certificate.passed else "refused: nothing may be released"),
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
        ("Signature", element("code", certificate.signature)),
        ("Versions", ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))),
    ]
    return section(
        "Certificate",
        element(
            "p",
            "The release step takes the fingerprint of the very copy it is about to publish and compares it with this "
            "certificate: other data, another policy or a changed certificate cannot be released. Where people are "
            "counted by a unit column, a population is compared with or a budget is limited, it looks at those again; "
            "what is not released is sealed with the key, so that nobody without it can try guesses of the rows. "
            "The signature is a keyed hash (HMAC-SHA256); it does not protect against someone who has the key.",
        ),
        definitions(pairs),
        identifier="certificate",
    )
