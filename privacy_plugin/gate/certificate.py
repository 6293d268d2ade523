"""Certificates: what was verified about which data, so that a gate holds from one run to the next.

A gate that passes leaves a signed certificate; a gate that fails leaves a signed refusal in its place. Whoever
releases takes the fingerprint of the copy it is about to publish and asks `require_certificate`, in the same
run or weeks later. The signature is a keyed hash (HMAC-SHA256): it shows that a certificate was changed after
it was issued by anyone who does not have the key. It does not protect against someone who has it.

Whoever may write to the folder can put an older certificate back in the place of a refusal. So a certificate names all
that its verdict follows from, and the release looks at all of it again: the rows, whose they are, the population, the
policy and the version of this package by fingerprint or name, the budget ledger by asking it anew. What is put back
then says what the gate would say now. (An objection of Great Expectations follows from nothing that is named: it can
be undone that way.) A key signs for everybody who has it: give every environment its own, so that what a developer's
changed code certified is worth nothing elsewhere.
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
from privacy_plugin.gate.signing import signature, signing_key
from privacy_plugin.gate.verdict import Verdict, in_lines
from privacy_plugin.requirements.rules import HasRules, Rules
from privacy_plugin.sources import Fingerprint, Source

_FORMAT = 3  # one more whenever a certificate says more, or its fingerprints are taken in another way
_PACKAGE = "privacy-plugin"


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A signed verdict about one table (or one partition of it) under one policy."""

    content: dict[str, Any]
    signature: str

    @property
    def passed(self) -> bool:
        """Whether the gate passed; a refusal is a certificate that did not."""
        return self.content.get("passed") is True

    def to_json(self) -> str:
        """Return the certificate as text; it holds names of columns, counts and digests, no value of the table."""
        return json.dumps({"content": self.content, "signature": self.signature}, indent=2, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """Read a certificate."""
        try:
            loaded = json.loads(text)
            return cls(content=dict(loaded["content"]), signature=str(loaded["signature"]))
        except (ValueError, KeyError, TypeError, RecursionError):
            raise CertificateError("the certificate cannot be read; judge the table again") from None


def issue(verdict: Verdict, *, key: bytes) -> Certificate:
    """Sign a verdict; one that passed must carry the fingerprint of the data it was passed for."""
    if verdict.passed and verdict.fingerprint is None:
        raise CertificateError("a passed verdict without a fingerprint says nothing about any data")
    salt = secrets.token_hex(16)
    sealed = {
        "people_fingerprint": _sealed(verdict.people_fingerprint, key, salt),
        "population_fingerprint": _sealed(verdict.population_fingerprint, key, salt),
    }
    content = {"format": _FORMAT, "versions": _versions(), "salt": salt, **verdict.to_dict(), **sealed}
    plain_content = json.loads(json.dumps(content))
    return Certificate(content=plain_content, signature=signature(plain_content, key))


def _sealed(fingerprint: Fingerprint | None, key: bytes, salt: object) -> dict[str, Any] | None:
    """Hide the digest of what is not released: only whoever has the key can compare it with a guess of the rows.

    A certificate goes with its release, and its digest over the unit could be tried with the people of each class in
    every order, until it tells whose sensitive value is whose. With a salt, two certificates do not tell either that
    they are of the same people.
    """
    if fingerprint is None:
        return None
    told = fingerprint.to_dict()
    return {**told, "digest": signature({"sealed": told, "salt": salt}, key)}


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
    """Refuse a release unless a valid certificate says that exactly this data passed exactly this policy.

    `staged` is the copy that would be published, not the table it was copied from: nothing can change between
    the check and the release. It must have the columns that the policy releases and no other, because the
    fingerprint says nothing of a column beside them. Where people are counted by a unit column, which is never
    published, `judged` is the table that has it; where a requirement compares with a `population`, that is looked at
    again too, and the budget ledger where one limits the budget.
    """
    certificate = require_open(certificate, policy=policy, key=key, partition=partition)
    _require_columns(staged, policy.rules.released)
    _require_same_data(certificate.content, policy.rules, key, staged=staged, judged=judged, population=population)
    for requirement in policy.rules.requirements:
        if requirement.definition.needs_ledger:
            found = requirement.judge(staged)
            if not found.passed:
                raise CertificateError(f"the gate passed, but by now it would not: {found.reason}")


def require_open(
    certificate: Certificate | None, *, policy: HasRules, key: bytes, partition: str | None = None
) -> Certificate:
    """Refuse what can be refused without a look at the data: nothing is copied for a gate that is closed anyway."""
    if certificate is None:
        where = f" partition {partition!r} of" if partition else ""
        raise CertificateError(
            f"no gate has judged{where} dataset {policy.rules.dataset!r}; run its privacy checks first"
        )
    _require_issued(certificate, policy=policy, key=key, partition=partition)
    if not certificate.passed:
        where = f" for partition {partition!r}" if partition else ""
        closed = f"the gate of dataset {policy.rules.dataset!r} is closed{where}"
        raise CertificateError(in_lines(closed, _reasons(certificate.content)))
    return certificate


def _require_issued(certificate: Certificate, *, policy: HasRules, key: bytes, partition: str | None) -> None:
    """Refuse a certificate that was changed, or that is not for this policy, partition and version."""
    signed, stated = signature(certificate.content, key), certificate.signature
    if not hmac.compare_digest(signed.encode(), stated.encode("utf-8", "replace")):
        raise CertificateError("the certificate was changed after it was issued, or signed with another key")
    content = certificate.content
    issued_by = content.get("format"), content["versions"].get(_PACKAGE)
    if issued_by != (_FORMAT, _versions().get(_PACKAGE)):  # a later one may find what this one missed
        raise CertificateError(
            f"another version of {_PACKAGE} issued the certificate, or another build of this one; "
            "judge this table again"
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
            "a release has exactly the columns that its gate judged; "
            f"too many: {', '.join(sorted(more)) or 'none'}; missing: {', '.join(sorted(fewer)) or 'none'}"
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
    """Take every fingerprint again that the verdict rests on."""
    if staged.fingerprint(rules.released).to_dict() != content.get("fingerprint"):
        raise CertificateError("the data is not the data that was judged: it changed after its privacy checks")
    if rules.unit is not None:
        if judged is None:
            raise CertificateError(f"people were counted by {rules.unit!r}; the release needs the table that has it")
        if _sealed(judged.fingerprint(rules.judged), key, content.get("salt")) != content.get("people_fingerprint"):
            raise CertificateError(
                f"the rows do not belong to the people who were judged: {rules.unit!r} changed after the privacy checks"
            )
    if rules.compares:
        if population is None:
            raise CertificateError("a requirement compares with a second table; the release needs it too")
        compared = content.get("population_fingerprint") or {"columns": None}
        if _sealed(population.fingerprint(compared["columns"]), key, content.get("salt")) != compared:
            raise CertificateError(
                "the population is not the one that was compared with: it changed after the privacy checks"
            )


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
    """The last certificate of every dataset and partition, as files in a folder."""

    def __init__(self, folder: str | Path, *, key: bytes | None = None) -> None:
        """Take the folder, and the key or None to use `signing_key()`."""
        self.folder = Path(folder)
        self.key = signing_key() if key is None else key

    def path(self, dataset: str, partition: str | None = None) -> Path:
        """Return the file of a dataset and partition; names are hashed, because they may hold any character."""
        name = hashlib.sha256(json.dumps([dataset, partition]).encode()).hexdigest()[:16]
        readable = "".join(c if c.isalnum() else "-" for c in dataset)[:40]
        return self.folder / f"{readable}-{name}.json"

    def record(self, verdict: Verdict) -> Certificate:
        """Sign a verdict and make it the last word on its dataset and partition, whether it passed or not."""
        certificate = issue(verdict, key=self.key)
        path = self.path(verdict.dataset, verdict.partition)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(path, certificate.to_json())
        except OSError as problem:
            words = f"the certificate cannot be written to {str(self.folder)!r}: {type(problem).__name__}"
            raise CertificateError(words) from None
        return certificate

    def find(self, dataset: str, partition: str | None = None) -> Certificate | None:
        """Return the last certificate, or None where no gate has judged."""
        try:
            text = self.path(dataset, partition).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as problem:
            raise CertificateError(f"the certificate cannot be read: {type(problem).__name__}") from None
        return Certificate.from_json(text)

    def require_open(self, policy: HasRules, *, partition: str | None = None) -> None:
        """Refuse a release that no look at its data could cover."""
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
        """Refuse a release that is not covered, and return the certificate that covers it."""
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
        assert certificate is not None  # require_certificate refuses None
        return certificate
