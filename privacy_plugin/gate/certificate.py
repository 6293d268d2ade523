"""Certificates: signed verdicts about exactly identified data, so that a gate holds from one run to the next.

A gate that passes writes a signed certificate; a gate that fails writes a signed refusal in its place. A release takes
the fingerprint of the copy that it will publish and calls `require_certificate`, in the same run or weeks later. The
signature is a keyed hash (HMAC-SHA256): it detects changes by anyone without the key, not by holders of the key.

A user who can write to the folder can put an older certificate in the place of a refusal. Therefore a certificate
records every input of its verdict, and the release checks all of them again: the rows, the people they belong to, the
population, the policy and the package version by fingerprint or name, and the budget ledger by a new query. An older
certificate is accepted only if the gate would give the same verdict now. (Exception: an objection of Great Expectations
depends on nothing that is recorded, so that it can be undone this way.) Use a separate key per environment, so that
certificates of modified code in development are invalid in production.
"""

import hashlib
import hmac
import json
import platform
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from privacy_plugin.atomic_write import write_atomically
from privacy_plugin.errors import CertificateError
from privacy_plugin.gate.signing import sign, signing_key
from privacy_plugin.gate.verdict import Verdict, join_reasons
from privacy_plugin.requirements.rules import HasRules, Rules
from privacy_plugin.sources import Fingerprint, Source

_FORMAT = 3  # increase when the content of certificates or the fingerprint changes
_PACKAGE = "privacy-plugin"


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A signed verdict about one table (or one partition of it) under one policy."""

    content: dict[str, Any]
    signature: str

    @property
    def passed(self) -> bool:
        """Whether the gate passed; False for a refusal."""
        return self.content.get("passed") is True

    def to_json(self) -> str:
        """Return the certificate as JSON; it contains column names, counts and digests, no value of the table."""
        return json.dumps({"content": self.content, "signature": self.signature}, indent=2, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """Parse a certificate; raise CertificateError if it is malformed."""
        try:
            loaded = json.loads(text)
            return cls(content=dict(loaded["content"]), signature=str(loaded["signature"]))
        except (ValueError, KeyError, TypeError, RecursionError):
            raise CertificateError("cannot read the certificate; judge the table again") from None


def issue(verdict: Verdict, *, key: bytes) -> Certificate:
    """Sign a verdict; raise if it passed but has no fingerprint of the judged data."""
    if verdict.passed and verdict.fingerprint is None:
        raise CertificateError("cannot certify a passed verdict without a fingerprint; judge with fingerprint=True")
    salt = secrets.token_hex(16)
    sealed = {
        "people_fingerprint": _seal(verdict.people_fingerprint, key, salt),
        "population_fingerprint": _seal(verdict.population_fingerprint, key, salt),
    }
    content = {"format": _FORMAT, "versions": _versions(), "salt": salt, **verdict.to_dict(), **sealed}
    plain_content = json.loads(json.dumps(content))
    return Certificate(content=plain_content, signature=sign(plain_content, key))


def _seal(fingerprint: Fingerprint | None, key: bytes, salt: object) -> dict[str, Any] | None:
    """Replace the digest of data that is not released by a keyed hash, so that only key holders can test guesses.

    A certificate is published with its release. With a plain digest over the unit, an attacker could try the people of
    each class in every order until the digest matches, and learn whose sensitive value is whose. The salt prevents that
    two certificates show that they are about the same people.
    """
    if fingerprint is None:
        return None
    content = fingerprint.to_dict()
    return {**content, "digest": sign({"sealed": content, "salt": salt}, key)}


def require_certificate(
    certificate: Certificate | None,
    *,
    policy: HasRules,
    staged: Source,
    key: bytes,
    partition: str | None = None,
    judged: Source | None = None,
    population: Source | None = None,
) -> None:
    """Raise CertificateError unless a valid certificate covers exactly this data under exactly this policy.

    `staged` is the copy that will be published, not the table it was copied from: nothing can change between the check
    and the release. It must have exactly the released columns of the policy, because the fingerprint does not cover any
    other column. If people are counted by a unit column, which is never published, `judged` is the table with that
    column. If a requirement compares with a `population`, its fingerprint is checked too; if one limits the budget, the
    ledger is queried again.
    """
    certificate = require_open(certificate, policy=policy, key=key, partition=partition)
    _require_columns(staged, policy.rules.released)
    _require_same_data(certificate.content, policy.rules, key, staged=staged, judged=judged, population=population)
    for requirement in policy.rules.requirements:
        if requirement.definition.needs_ledger:
            found = requirement.judge(staged)
            if not found.passed:
                raise CertificateError(f"the gate passed earlier, but would not pass now: {found.reason}")


def require_open(
    certificate: Certificate | None, *, policy: HasRules, key: bytes, partition: str | None = None
) -> Certificate:
    """Raise unless the certificate is valid and passed, without reading data: a closed gate costs no copy."""
    if certificate is None:
        where = f" partition {partition!r} of" if partition else ""
        raise CertificateError(
            f"no certificate for{where} dataset {policy.rules.dataset!r}; run its privacy checks first"
        )
    _require_issued(certificate, policy=policy, key=key, partition=partition)
    if not certificate.passed:
        where = f" for partition {partition!r}" if partition else ""
        closed = f"the gate of dataset {policy.rules.dataset!r} is closed{where}"
        raise CertificateError(join_reasons(closed, _reasons(certificate.content)))
    return certificate


def _require_issued(certificate: Certificate, *, policy: HasRules, key: bytes, partition: str | None) -> None:
    """Raise if a certificate was changed, or is for another policy, partition or package version."""
    signed, stated = sign(certificate.content, key), certificate.signature
    if not hmac.compare_digest(signed.encode(), stated.encode("utf-8", "replace")):
        raise CertificateError(
            "the certificate was changed after it was issued, or signed with another key; judge this table again"
        )
    content = certificate.content
    issued_by = content.get("format"), content["versions"].get(_PACKAGE)
    if issued_by != (_FORMAT, _versions().get(_PACKAGE)):  # another version may judge differently
        raise CertificateError(
            f"the certificate was issued by another version or build of {_PACKAGE}; judge this table again"
        )
    expected = {
        "dataset": policy.rules.dataset,
        "partition": partition,
        "policy_digest": policy.rules.digest,
    }
    for name, value in expected.items():
        if content.get(name) != value:
            raise CertificateError(f"the certificate is for another {name.replace('_', ' ')}; judge this table again")


def _require_columns(staged: Source, released: Sequence[str]) -> None:
    if sorted(staged.columns) != sorted(released):
        more, fewer = set(staged.columns) - set(released), set(released) - set(staged.columns)
        raise CertificateError(
            "a release must have exactly the columns that its gate judged; "
            f"remove: {', '.join(sorted(more)) or 'none'}; add: {', '.join(sorted(fewer)) or 'none'}"
        )


def _require_same_data(
    content: dict[str, Any],
    rules: Rules,
    key: bytes,
    *,
    staged: Source,
    judged: Source | None,
    population: Source | None,
) -> None:
    """Raise if any fingerprint of the verdict's inputs has changed."""
    if staged.fingerprint(rules.released).to_dict() != content.get("fingerprint"):
        raise CertificateError("the data changed after its privacy checks; judge this table again")
    if rules.unit is not None:
        if judged is None:
            raise CertificateError(
                f"people were counted by the unit {rules.unit!r}; pass the table with that column as judged="
            )
        if _seal(judged.fingerprint(rules.judged), key, content.get("salt")) != content.get("people_fingerprint"):
            raise CertificateError(
                f"the unit {rules.unit!r} changed after the privacy checks, so that rows belong to other people; judge "
                "this table again"
            )
    if rules.needs_population:
        if population is None:
            raise CertificateError("a requirement compares with a population; pass it to the release too")
        compared = content.get("population_fingerprint") or {"columns": None}
        if _seal(population.fingerprint(compared["columns"]), key, content.get("salt")) != compared:
            raise CertificateError("the population changed after the privacy checks; judge this table again")


def _reasons(content: dict[str, Any]) -> list[str]:
    failed = [finding["reason"] for finding in content.get("findings", ()) if not finding.get("passed")]
    return [*content.get("problems", ()), *failed] or ["no reason recorded"]


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in (_PACKAGE, "numpy", "pandas", "sqlalchemy", "duckdb"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


class CertificateStore:
    """The latest certificate of every dataset and partition, as files in a folder."""

    def __init__(self, folder: str | Path, *, key: bytes | None = None) -> None:
        """Use `signing_key()` if no key is given."""
        self.folder = Path(folder)
        self.key = signing_key() if key is None else key

    def path(self, dataset: str, partition: str | None = None) -> Path:
        """Return the file of a dataset and partition, named by a hash, because names may contain any character."""
        name = hashlib.sha256(json.dumps([dataset, partition]).encode()).hexdigest()[:16]
        readable = "".join(c if c.isalnum() else "-" for c in dataset)[:40]
        return self.folder / f"{readable}-{name}.json"

    def record(self, verdict: Verdict) -> Certificate:
        """Sign a verdict, passed or not, and replace the certificate of its dataset and partition."""
        certificate = issue(verdict, key=self.key)
        path = self.path(verdict.dataset, verdict.partition)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(path, certificate.to_json())
        except OSError as problem:
            message = f"cannot write the certificate to {str(self.folder)!r}: {type(problem).__name__}"
            raise CertificateError(message) from None
        return certificate

    def find(self, dataset: str, partition: str | None = None) -> Certificate | None:
        """Return the latest certificate, or None if there is none."""
        try:
            text = self.path(dataset, partition).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as problem:
            raise CertificateError(
                f"cannot read the certificate: {type(problem).__name__}; judge the table again"
            ) from None
        return Certificate.from_json(text)

    def require_open(self, policy: HasRules, *, partition: str | None = None) -> None:
        """Raise unless the latest certificate is valid and passed; no data is read."""
        require_open(self.find(policy.rules.dataset, partition), policy=policy, key=self.key, partition=partition)

    def require(
        self,
        policy: HasRules,
        staged: Source,
        *,
        partition: str | None = None,
        judged: Source | None = None,
        population: Source | None = None,
    ) -> Certificate:
        """Return the certificate that covers a release; raise CertificateError if none does."""
        certificate = self.find(policy.rules.dataset, partition)
        require_certificate(
            certificate,
            policy=policy,
            staged=staged,
            key=self.key,
            partition=partition,
            judged=judged,
            population=population,
        )
        assert certificate is not None  # require_certificate raises for None
        return certificate
