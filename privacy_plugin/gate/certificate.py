"""Certificates: signed verdicts about exactly identified data, so that a gate holds from one run to the next.

A gate that passes writes a signed certificate; a gate that fails writes a signed refusal in its place. A release takes
the fingerprint of the copy that it will publish and calls `require_certificate`, in the same run or weeks later. A
recipient verifies what they got with the public key alone (`privacy_plugin.gate.verification`).

A certificate is a DSSE envelope around an in-toto Statement v1. Its subjects are the released tables by name and
digest, one digest for each scheme; the predicate holds the verdict. The signature is Ed25519: it detects changes by
everyone without the private key. Digests of what is not released are sealed with a secret of the signer.

A user who can write to the folder can put an older certificate in the place of a refusal. Therefore a certificate
records every input of its verdict, and the release checks all of them again: the rows, the people they belong to, the
population, the policy and the package version by fingerprint or name, and the budget ledger by a new query. An older
certificate is accepted only if the gate would give the same verdict now. (Exception: an objection of Great Expectations
depends on nothing that is recorded, so that it can be undone this way.) Use a separate key per environment, so that
certificates of modified code in development are invalid in production.
"""

import base64
import hashlib
import json
import os
import platform
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from privacy_plugin.atomic_write import write_atomically
from privacy_plugin.errors import CertificateError, ObjectStoreError, ParameterError, describe_error
from privacy_plugin.gate.keyring import Keyring, load_keyring
from privacy_plugin.gate.signing import decode_base64, encode_envelope, seal
from privacy_plugin.gate.verdict import Verdict, join_reasons
from privacy_plugin.history.in_use import find_history
from privacy_plugin.locations import Location, ObjectPath, parse_location
from privacy_plugin.requirements.rules import HasRules, Rules
from privacy_plugin.sources import Fingerprint, Source
from privacy_plugin.sources.bundle import Bundle
from privacy_plugin.text_files import read_text_file

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://privacy-plugin.dev/certificate/v4"

_FORMAT = 4  # increase when the content of certificates or the fingerprint changes
_PACKAGE = "privacy-plugin"
_LARGEST = 64 * 2**20


@dataclass(frozen=True, kw_only=True)
class ReleasedTable:
    """A table of a release: its name, its fingerprints (one for each scheme), and where it is published, if known."""

    name: str
    fingerprints: tuple[Fingerprint, ...]
    target: str | None = None

    def to_subject(self) -> dict[str, Any]:
        """Return the in-toto resource descriptor."""
        first = self.fingerprints[0]
        notes = {"rows": first.rows, "columns": list(first.columns), **({"target": self.target} if self.target else {})}
        return {
            "name": self.name,
            "digest": {found.scheme: found.digest for found in self.fingerprints},
            "annotations": notes,
        }

    @classmethod
    def from_subject(cls, subject: Mapping[str, Any]) -> "ReleasedTable":
        """Parse a resource descriptor; raise KeyError, TypeError or ValueError if it is malformed."""
        notes = subject["annotations"]
        rows, columns = int(notes["rows"]), tuple(map(str, notes["columns"]))
        found = [
            Fingerprint(rows=rows, digest=str(digest), scheme=str(scheme), columns=columns)
            for scheme, digest in subject["digest"].items()
        ]
        if not found:
            raise ValueError("a subject without a digest")
        return cls(name=str(subject["name"]), fingerprints=tuple(found), target=notes.get("target"))


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A signed verdict about the tables of one release (or of one partition of it) under one policy."""

    payload: bytes
    signatures: tuple[tuple[str, bytes], ...]

    @cached_property
    def statement(self) -> dict[str, Any]:
        """The in-toto statement that is signed."""
        try:
            loaded = json.loads(self.payload)
            if loaded["_type"] != STATEMENT_TYPE or not isinstance(loaded["predicate"], dict):
                raise ValueError("another type")
        except (ValueError, KeyError, TypeError, RecursionError):
            raise CertificateError("cannot read the certificate; judge the table again") from None
        if loaded.get("predicateType") != PREDICATE_TYPE:
            raise CertificateError(
                f"this is not a certificate of this format of {_PACKAGE}; judge the table again with this version"
            )
        return dict(loaded)

    @property
    def content(self) -> dict[str, Any]:
        """The predicate: the verdict and what it depends on."""
        return dict(self.statement["predicate"])

    @property
    def passed(self) -> bool:
        """Whether the gate passed; False for a refusal."""
        return self.content.get("passed") is True

    @property
    def tables(self) -> tuple[ReleasedTable, ...]:
        """The tables that may be released; none for a refusal."""
        if not self.passed:
            return ()
        try:
            return tuple(ReleasedTable.from_subject(subject) for subject in self.statement["subject"])
        except (KeyError, TypeError, ValueError, AttributeError):
            raise CertificateError("cannot read the certificate; judge the table again") from None

    @property
    def release_name(self) -> str:
        """The start of the digest of what may be released: part of the name of the file next to the release."""
        digests = [table.fingerprints[0].digest for table in self.tables]
        joined = digests[0] if len(digests) == 1 else hashlib.sha256(json.dumps(digests).encode()).hexdigest()
        return joined[:16]

    @property
    def key_ids(self) -> tuple[str, ...]:
        """The ids of the keys that signed, as stated."""
        return tuple(key_id for key_id, _ in self.signatures)

    @property
    def signature(self) -> str:
        """The first signature in hexadecimal digits."""
        return self.signatures[0][1].hex()

    @property
    def valid_until(self) -> str | None:
        """Until when the certificate is valid, or None if the policy sets no end."""
        until = self.content.get("valid_until")
        return None if until is None else str(until)

    def to_json(self) -> str:
        """Return the envelope as JSON; it contains column names, counts and digests, no value of the table."""
        envelope = {
            "payloadType": PAYLOAD_TYPE,
            "payload": base64.b64encode(self.payload).decode(),
            "signatures": [
                {"keyid": key_id, "sig": base64.b64encode(made).decode()} for key_id, made in self.signatures
            ],
        }
        return json.dumps(envelope, indent=2)

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """Parse a certificate; raise CertificateError if it is malformed or of an earlier format."""
        try:
            loaded = json.loads(text)
            if isinstance(loaded, dict) and {"content", "signature"} <= set(loaded):
                raise CertificateError(
                    "this certificate has an earlier format, with a shared key; judge the table again: the new one is "
                    "signed with a key pair (privacy-plugin keys new)"
                )
            if loaded["payloadType"] != PAYLOAD_TYPE:
                raise ValueError("another payload")
            signatures = tuple((str(made["keyid"]), decode_base64(made["sig"])) for made in loaded["signatures"])
            parsed = cls(payload=decode_base64(loaded["payload"]), signatures=signatures)
        except (ValueError, KeyError, TypeError, RecursionError):
            raise CertificateError("cannot read the certificate; judge the table again") from None
        if not signatures:
            raise CertificateError("the certificate has no signature; judge the table again")
        return parsed


def issue(verdict: Verdict, *, keys: Keyring, tables: Sequence[ReleasedTable] | None = None) -> Certificate:
    """Sign a verdict; raise if it passed but has no fingerprint of the judged data.

    `tables` are all tables of the release; the default is those of the verdict; a single
    table is named like the dataset.
    """
    if verdict.passed and verdict.fingerprint is None:
        raise CertificateError("cannot certify a passed verdict without a fingerprint; judge with fingerprint=True")
    key = keys.signing_key
    salt = secrets.token_hex(16)
    sealed = {
        "people_fingerprint": _seal(verdict.people_fingerprint, key.sealing, salt),
        "population_fingerprint": _seal(verdict.population_fingerprint, key.sealing, salt),
    }
    stated = {"format": _FORMAT, "versions": _versions(), "key_id": key.id, "salt": salt}
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": _subjects(verdict, tables),
        "predicateType": PREDICATE_TYPE,
        "predicate": {**stated, **verdict.to_dict(), **sealed},
    }
    payload = json.dumps(statement, sort_keys=True).encode()
    return Certificate(payload=payload, signatures=((key.id, key.sign(encode_envelope(PAYLOAD_TYPE, payload))),))


def _subjects(verdict: Verdict, tables: Sequence[ReleasedTable] | None) -> list[dict[str, Any]]:
    """Return the subjects: the released tables, or for a refusal the policy, because a digest would confirm guesses."""
    if not verdict.passed or verdict.fingerprint is None:
        return [{"name": f"refused: {verdict.dataset}", "digest": {"policy-sha256": verdict.policy_digest}}]
    taken = verdict.table_fingerprints or {verdict.dataset: verdict.fingerprint}
    portable = verdict.content_fingerprints
    own = [
        ReleasedTable(name=name, fingerprints=(found, *([portable[name]] if name in portable else [])))
        for name, found in taken.items()
    ]
    listed = own if tables is None else list(tables)
    if not listed or len({table.name for table in listed}) != len(listed):
        raise CertificateError("a certificate needs at least one table, and every table a name of its own")
    return [table.to_subject() for table in listed]


def _seal(fingerprint: Fingerprint | None, secret: bytes, salt: object) -> dict[str, Any] | None:
    """Replace the digest of data that is not released by a keyed hash, so that only the signer can test guesses.

    A certificate is published with its release. With a plain digest over the unit, an attacker could try the people of
    each class in every order until the digest matches, and learn whose sensitive value is whose. The salt prevents that
    two certificates show that they are about the same people.
    """
    if fingerprint is None:
        return None
    content = fingerprint.to_dict()
    return {**content, "digest": seal({"sealed": content, "salt": salt}, secret)}


def require_certificate(
    certificate: Certificate | None,
    *,
    policy: HasRules,
    staged: Source,
    keys: Keyring,
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
    certificate = require_open(certificate, policy=policy, keys=keys, partition=partition)
    _require_not_replayed(certificate, policy.rules.dataset, partition)
    _require_columns(staged, policy.rules.released)
    if staged.fingerprint(policy.rules.released).to_dict() != certificate.content.get("fingerprint"):
        raise CertificateError("the data changed after its privacy checks; judge this table again")
    require_tables(certificate, staged.tables if isinstance(staged, Bundle) else {certificate.tables[0].name: staged})
    _require_same_inputs(certificate.content, policy.rules, keys, judged=judged, population=population)
    for requirement in policy.rules.requirements:
        if requirement.definition.needs_ledger:
            found = requirement.judge(staged)
            if not found.passed:
                raise CertificateError(f"the gate passed earlier, but would not pass now: {found.reason}")
        if requirement.definition.needs_history:
            columns = policy.rules.columns("quasi_identifier")
            source = staged if policy.rules.unit is None else judged
            found = requirement.judge(source, quasi_identifiers=columns, unit=policy.rules.unit)
            if not found.passed:
                raise CertificateError(f"the gate passed earlier, but would not pass now: {found.reason}")


def require_open(
    certificate: Certificate | None, *, policy: HasRules, keys: Keyring, partition: str | None = None
) -> Certificate:
    """Raise unless the certificate is valid and passed, without reading data: a closed gate costs no copy."""
    if certificate is None:
        where = f" partition {partition!r} of" if partition else ""
        raise CertificateError(
            f"no certificate for{where} dataset {policy.rules.dataset!r}; run its privacy checks first"
        )
    _require_issued(certificate, policy=policy, keys=keys, partition=partition)
    if not certificate.passed:
        where = f" for partition {partition!r}" if partition else ""
        closed = f"the gate of dataset {policy.rules.dataset!r} is closed{where}"
        raise CertificateError(join_reasons(closed, _reasons(certificate.content)))
    return certificate


def require_signature(certificate: Certificate, keys: Keyring) -> str:
    """Return the id of a trusted key that signed the certificate; raise CertificateError if there is none.

    A signature by a revoked key counts for nothing, even if another trusted key of the same id exists.
    """
    message = encode_envelope(PAYLOAD_TYPE, certificate.payload)
    revoked = []
    for key_id, signature in certificate.signatures:
        key = keys.public.get(key_id)
        if key is None or not key.verify(message, signature):
            continue
        if key_id not in keys.revoked:
            return key_id
        revoked.append(key_id)
    if revoked:
        raise CertificateError(f"the certificate was signed with key {revoked[0]}, which is revoked; judge it again")
    if not keys.public:
        raise CertificateError("no public key is trusted; set PRIVACY_PLUGIN_PUBLIC_KEYS, or judge the table first")
    raise CertificateError(
        "the certificate was changed after it was issued, or signed with another key; judge this table again"
    )


def require_current(certificate: Certificate) -> None:
    """Raise CertificateError if the certificate is no longer valid by its own terms."""
    until = certificate.valid_until
    if until is None:
        return
    try:
        expired = datetime.now(UTC) >= datetime.fromisoformat(until)
    except (ValueError, TypeError):
        expired = True
    if expired:
        raise CertificateError(f"the certificate was valid until {until}; judge the table again")


def require_tables(certificate: Certificate, staged: Mapping[str, Source]) -> None:
    """Raise CertificateError unless these are exactly the certified tables, each with exactly the certified rows."""
    certified = {table.name: table for table in certificate.tables}
    if set(certified) != set(staged):
        raise CertificateError("a release must have exactly the tables that its gate judged; judge all of them again")
    for name, table in certified.items():
        _require_columns(staged[name], table.fingerprints[0].columns)
        found = staged[name].fingerprint(table.fingerprints[0].columns)
        if found not in table.fingerprints:
            raise CertificateError("the data changed after its privacy checks; judge this table again")


def _require_issued(certificate: Certificate, *, policy: HasRules, keys: Keyring, partition: str | None) -> None:
    """Raise if a certificate was changed, has expired, or is for another policy, partition or package version."""
    require_signature(certificate, keys)
    content = certificate.content
    issued_by = content.get("format"), (content.get("versions") or {}).get(_PACKAGE)
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
    require_current(certificate)


def _require_not_replayed(certificate: Certificate, dataset: str, partition: str | None) -> None:
    """Raise if the history in use has a later release of other rows: data and certificate were rolled back.

    Times are compared in whole seconds, as certificates state them.
    """
    with find_history() as history:
        releases = () if history is None else history.releases(dataset=dataset)
    judged_at = datetime.fromisoformat(str(certificate.content["judged_at"]))
    for release in releases:
        same = f".{certificate.release_name}." in Path(release.certificate or "").name
        reserved_at = datetime.fromisoformat(release.reserved_at).replace(microsecond=0)
        if release.partition == partition and not same and reserved_at > judged_at:
            raise CertificateError(
                f"release {release.number} of {dataset!r} has published other rows since this certificate was issued; "
                "certificate and data are older than the history. Judge this table again"
            )


def _require_columns(staged: Source, released: Sequence[str]) -> None:
    if sorted(staged.columns) != sorted(released):
        more, fewer = set(staged.columns) - set(released), set(released) - set(staged.columns)
        raise CertificateError(
            "a release must have exactly the columns that its gate judged; "
            f"remove: {', '.join(sorted(more)) or 'none'}; add: {', '.join(sorted(fewer)) or 'none'}"
        )


def _require_same_inputs(
    content: dict[str, Any],
    rules: Rules,
    keys: Keyring,
    *,
    judged: Source | None,
    population: Source | None,
) -> None:
    """Raise if the people or the population of the verdict have changed."""
    salt, key_id = content.get("salt"), str(content.get("key_id"))
    if rules.unit is not None:
        if judged is None:
            raise CertificateError(
                f"people were counted by the unit {rules.unit!r}; pass the table with that column as judged="
            )
        found = _seal(judged.fingerprint(rules.judged), keys.sealing_secret(key_id), salt)
        if found != content.get("people_fingerprint"):
            raise CertificateError(
                f"the unit {rules.unit!r} changed after the privacy checks, so that rows belong to other people; judge "
                "this table again"
            )
    if rules.needs_population:
        if population is None:
            raise CertificateError("a requirement compares with a population; pass it to the release too")
        compared = content.get("population_fingerprint") or {"columns": None}
        if _seal(population.fingerprint(compared["columns"]), keys.sealing_secret(key_id), salt) != compared:
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


def write_certificate(path: Location, certificate: Certificate) -> None:
    """Write a certificate durably; raise CertificateError if that is not possible."""
    path = parse_location(path)  # a URL that was given as a path has lost a slash
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, certificate.to_json())
    except OSError as problem:
        reason = describe_error(problem) if isinstance(problem, ObjectStoreError) else type(problem).__name__
        message = f"cannot write the certificate to {str(path.parent)!r}: {reason}"
        raise CertificateError(message) from None


def read_certificate(path: Location) -> Certificate:
    """Read a certificate; raise CertificateError if it cannot be read."""
    try:
        place = parse_location(path)
        if isinstance(place, ObjectPath):
            return Certificate.from_json(read_text_file(place, largest=_LARGEST))
        with open(place, encoding="utf-8") as file:
            return Certificate.from_json(file.read(_LARGEST))
    except (OSError, UnicodeDecodeError, ParameterError) as problem:
        reason = describe_error(problem) if isinstance(problem, ObjectStoreError) else type(problem).__name__
        raise CertificateError(f"cannot read the certificate: {reason}; judge the table again") from None


class CertificateStore:
    """The latest certificate of every dataset and partition, as files in a folder or below a URL (s3://, gs://, az://)."""

    def __init__(self, folder: str | Location, *, keys: Keyring | None = None) -> None:
        """Use the keys of the environment or of the key folder if none are given."""
        self.folder = parse_location(folder)
        self._keys = keys

    @property
    def keys(self) -> Keyring:
        """The keys that are trusted; a release needs no private key."""
        return load_keyring() if self._keys is None else self._keys

    def path(self, dataset: str, partition: str | None = None) -> Location:
        """Return the file of a dataset and partition, named by a hash, because names may contain any character."""
        name = hashlib.sha256(json.dumps([dataset, partition]).encode()).hexdigest()[:16]
        readable = "".join(c if c.isalnum() else "-" for c in dataset)[:40]
        return self.folder / f"{readable}-{name}.json"

    def record(self, verdict: Verdict) -> Certificate:
        """Sign a verdict, passed or not, and replace the certificate of its dataset and partition."""
        certificate = issue(verdict, keys=load_keyring(signing=True) if self._keys is None else self._keys)
        write_certificate(self.path(verdict.dataset, verdict.partition), certificate)
        return certificate

    def find(self, dataset: str, partition: str | None = None) -> Certificate | None:
        """Return the latest certificate, or None if there is none."""
        path = self.path(dataset, partition)
        try:
            exists = path.is_file() if isinstance(path, ObjectPath) else os.path.lexists(path)
        except OSError as problem:
            raise CertificateError(f"cannot read the certificate: {describe_error(problem)}") from None
        return read_certificate(path) if exists else None

    def require_open(self, policy: HasRules, *, partition: str | None = None) -> Certificate:
        """Return the latest certificate; raise unless it is valid and passed. No data is read."""
        return require_open(
            self.find(policy.rules.dataset, partition), policy=policy, keys=self.keys, partition=partition
        )

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
            keys=self.keys,
            partition=partition,
            judged=judged,
            population=population,
        )
        assert certificate is not None  # require_certificate raises for None
        return certificate
