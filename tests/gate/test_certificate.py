"""Exactly what was judged may leave: a certificate binds data, policy, partition, people and population."""

import base64
import json
import os
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

import privacy_plugin as pp
from privacy_plugin.errors import CertificateError
from privacy_plugin.gate import certificate as certificate_module
from privacy_plugin.gate.certificate import Certificate, ReleasedTable, issue, require_certificate, require_tables
from privacy_plugin.gate.keyring import KEY_VARIABLE, Keyring
from privacy_plugin.gate.signing import encode_envelope
from privacy_plugin.sources import open_source
from tests.certificates import FRAME, GIVEN, KEY, KEYS, OTHER_KEY, POLICY, TEST_KEY, refused, store_of


def readable(certificate):
    """Return everything a reader of the certificate sees; the envelope encodes the statement."""
    return certificate.to_json() + certificate.payload.decode()


def test_exactly_the_judged_data_may_be_released(tmp_path):
    store = store_of(tmp_path)
    assert store.require(POLICY, open_source(FRAME)).passed
    reordered = FRAME.sample(frac=1, random_state=3)[["disease", "age"]]
    assert store.require(POLICY, open_source(reordered)).content["rows"] == 4


def test_another_process_with_the_same_key_agrees(tmp_path):
    store_of(tmp_path)
    script = (
        "import pandas as pd, privacy_plugin as pp, sys, json\n"
        "from privacy_plugin.sources import open_source\n"
        "policy = pp.Policy.from_dict(json.loads(sys.argv[2]))\n"
        "frame = pd.DataFrame({'age': [30, 30, 41, 41], 'disease': ['flu', 'cold', 'flu', None]})\n"
        "pp.CertificateStore(sys.argv[1]).require(policy, open_source(frame))\n"
    )
    environment = {**os.environ, KEY_VARIABLE: TEST_KEY}
    subprocess.run([sys.executable, "-c", script, str(tmp_path), json.dumps(GIVEN)], check=True, env=environment)


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.assign(age=[30, 30, 41, 42]),
        lambda f: f.assign(disease=["flu", "cold", "flu", "flu"]),
        lambda f: f.assign(disease=["flu", "cold", "flu", ""]),
        lambda f: f.assign(disease=["flu", "cold", "flu", "*"]),
        lambda f: f.assign(age=f["age"].astype(str)),
        lambda f: f[:3],
        lambda f: f[:0],
        lambda f: pd.concat([f, f[:1]]),
        lambda f: pd.concat([f, f]),
        lambda f: pd.concat([f[:3], f[:1]]),
        lambda f: f.rename(columns={"age": "disease", "disease": "age"}),
        lambda f: f.assign(disease=f["disease"].to_numpy()[::-1]),
    ],
)
def test_data_changed_after_its_checks_may_not_be_released(tmp_path, change):
    refused(store_of(tmp_path), frame=change(FRAME), words="changed after")


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.assign(name=["a", "b", "c", "d"]),
        lambda f: f.assign(phone="1"),
        lambda f: f.drop(columns="disease"),
    ],
)
def test_a_release_has_exactly_the_judged_columns(tmp_path, change):
    """The fingerprint covers the released columns only: a copy with an additional column of names would match it."""
    refused(store_of(tmp_path), frame=change(FRAME), words="exactly the columns")


def test_without_a_certificate_nothing_is_released(tmp_path):
    store = pp.CertificateStore(tmp_path / "not" / "made", keys=KEYS)
    refused(store, words="no certificate for dataset 'visits'")
    refused(store, partition="2024-01", words="partition '2024-01' of dataset 'visits'")
    with pytest.raises(CertificateError):
        require_certificate(None, policy=POLICY, staged=open_source(FRAME), keys=KEYS)


def test_a_refusal_replaces_an_older_certificate(tmp_path):
    store = store_of(tmp_path)
    bad = FRAME.assign(age=[1, 2, 3, 4])
    certificate = store.record(POLICY.judge(bad, fingerprint=True))
    assert not certificate.passed
    refused(store, frame=bad, words="is closed: k-anonymity is 1")
    refused(store, words="is closed")  # even the older data has to be judged again


def test_a_table_that_could_not_be_judged_records_a_refusal(tmp_path):
    store = store_of(tmp_path, frame=FRAME.assign(phone="1"))
    refused(store, frame=FRAME.assign(phone="1"), words="column 'phone' has no role")


OTHER_POLICIES = [
    {**GIVEN, "requirements": [{"k_anonymity": {"at_least": 3}}]},
    {**GIVEN, "requirements": [{"k_anonymity": {"at_least": 1}}]},
    {**GIVEN, "requirements": [{"k_anonymity": {"at_least": 2}}, {"l_diversity": {"at_least": 1}}]},
    {**GIVEN, "columns": {"name": "identifier", "age": "quasi_identifier", "disease": "quasi_identifier"}},
    {**GIVEN, "columns": {"age": "quasi_identifier", "disease": "sensitive"}},
]


@pytest.mark.parametrize("given", OTHER_POLICIES)
def test_a_certificate_of_another_policy_is_rejected(tmp_path, given):
    refused(store_of(tmp_path), policy=pp.Policy.from_dict(given), words="another policy digest")


def test_a_certificate_of_another_partition_or_dataset_is_rejected(tmp_path):
    store = store_of(tmp_path, partition="2024-01")
    assert store.require(POLICY, open_source(FRAME), partition="2024-01").passed
    for other in ("2024-02", None, ""):
        refused(store, partition=other, words="no certificate for")
        january = store.path("visits", "2024-01")
        store.path("visits", other).write_bytes(january.read_bytes())
        refused(store, partition=other, words="another partition")
    policy = pp.Policy.from_dict({**GIVEN, "dataset": "stays"})
    store.path("stays").write_bytes(january.read_bytes())
    refused(store, policy=policy, words="another dataset")


def test_a_certificate_of_another_package_version_is_rejected(tmp_path, monkeypatch):
    """Another version may judge the same data differently."""
    store = store_of(tmp_path)
    own = certificate_module.version
    monkeypatch.setattr(certificate_module, "version", lambda name: "9.9" if name == "privacy-plugin" else own(name))
    refused(store, words="another version or build of privacy-plugin")
    store_of(tmp_path)
    assert store.require(POLICY, open_source(FRAME)).passed


BY_PEOPLE = pp.Policy.from_dict({**GIVEN, "columns": {**GIVEN["columns"], "name": "unit"}})


def test_a_certificate_of_an_earlier_build_is_rejected_with_advice(tmp_path):
    """It has no fingerprint of the unit; the error must not say that the unit changed."""
    people = FRAME.assign(name=["a", "b", "c", "d"])
    issued = store_of(tmp_path, frame=people, policy=BY_PEOPLE).find("visits")
    earlier = {name: value for name, value in issued.content.items() if name != "people_fingerprint"} | {"format": 1}
    payload = json.dumps({**issued.statement, "predicate": earlier}).encode()
    signature = KEY.sign(encode_envelope(certificate_module.PAYLOAD_TYPE, payload))
    certificate = Certificate(payload=payload, signatures=((KEY.id, signature),))
    with pytest.raises(CertificateError, match="another version or build of privacy-plugin; judge this table again"):
        require_certificate(
            certificate, policy=BY_PEOPLE, staged=open_source(FRAME), judged=open_source(people), keys=KEYS
        )


def test_a_certificate_covers_the_unit_of_the_rows(tmp_path):
    people = FRAME.assign(name=["a", "b", "c", "d"])
    store = store_of(tmp_path, frame=people, policy=BY_PEOPLE)
    staged = open_source(FRAME)
    assert store.require(BY_PEOPLE, staged, judged=open_source(people)).passed
    with pytest.raises(CertificateError, match="pass the table with that column"):
        store.require(BY_PEOPLE, staged)
    with pytest.raises(CertificateError, match="rows belong to other people"):
        store.require(BY_PEOPLE, staged, judged=open_source(people.assign(name="a")))


def test_sealed_digests_cannot_be_tested_without_the_key(tmp_path):
    """A certificate is published: with k people in a class, k! guesses would reveal whose value is whose."""
    people = FRAME.assign(name=["a", "b", "c", "d"])
    register = pd.DataFrame({"age": [30, 41] * 3})
    policy = pp.Policy.from_dict(
        {**GIVEN, "columns": BY_PEOPLE.roles, "requirements": [{"k_anonymity": {"at_least": 2}}]}
    )
    compared = pp.Policy.from_dict({**GIVEN, "requirements": [{"k_map": {"at_least": 3}}]})
    for judged, others, asked in ((people, None, policy), (FRAME, register, compared)):
        verdict = asked.judge(judged, population=others, fingerprint=True)
        hidden = verdict.people_fingerprint or verdict.population_fingerprint
        written = json.dumps(verdict.to_dict()) + readable(pp.CertificateStore(tmp_path, keys=KEYS).record(verdict))
        assert hidden.digest not in written
        assert verdict.fingerprint.digest in written


def test_a_refusal_contains_no_digest_of_the_table(tmp_path):
    strict = pp.Policy.from_dict({**GIVEN, "requirements": [{"k_anonymity": {"at_least": 50}}]})
    verdict = strict.judge(FRAME, fingerprint=True)
    written = json.dumps(verdict.to_dict()) + readable(pp.CertificateStore(tmp_path, keys=KEYS).record(verdict))
    assert verdict.fingerprint.digest not in written


def test_a_certificate_covers_the_population(tmp_path):
    register = pd.DataFrame({"age": [30, 41] * 3})
    policy = pp.Policy.from_dict({**GIVEN, "requirements": [{"k_map": {"at_least": 3}}]})
    store = pp.CertificateStore(tmp_path, keys=KEYS)
    store.record(policy.judge(FRAME, population=register, fingerprint=True))
    staged = open_source(FRAME)
    named = register.assign(name="not compared with")
    assert store.require(policy, staged, population=open_source(named)).passed
    with pytest.raises(CertificateError, match="pass it to the release too"):
        store.require(policy, staged)
    with pytest.raises(CertificateError, match="the population changed after the privacy checks"):
        store.require(policy, staged, population=open_source(register[:5]))


def test_a_passed_verdict_without_a_fingerprint_is_not_signed(tmp_path):
    with pytest.raises(CertificateError, match="without a fingerprint"):
        pp.CertificateStore(tmp_path, keys=KEYS).record(POLICY.judge(FRAME))
    assert list(tmp_path.iterdir()) == []


def test_a_certificate_contains_no_value_of_the_table(tmp_path):
    frame = pd.DataFrame({"age": ["marker"] * 2, "disease": ["marker"] * 2})
    certificate = pp.CertificateStore(tmp_path, keys=KEYS).record(POLICY.judge(frame, fingerprint=True))
    assert "marker" not in readable(certificate)
    assert certificate.content["policy_digest"] == POLICY.digest
    assert certificate.content["findings"][0]["value"] == 2
    assert certificate.content["fingerprint"]["rows"] == 2
    assert set(certificate.content["versions"]) >= {"python", "numpy", "pandas"}
    assert certificate.content["judged_at"]
    assert Certificate.from_json(certificate.to_json()) == certificate


def resigned(issued, **changes):
    payload = json.dumps({**issued.statement, **changes}).encode()
    signature = KEY.sign(encode_envelope(certificate_module.PAYLOAD_TYPE, payload))
    return Certificate(payload=payload, signatures=((KEY.id, signature),))


def test_a_certificate_is_an_in_toto_statement_in_a_dsse_envelope(tmp_path):
    issued = store_of(tmp_path).find("visits")
    envelope = json.loads(issued.to_json())
    assert set(envelope) == {"payloadType", "payload", "signatures"}
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    assert envelope["signatures"][0]["keyid"] == KEY.id == issued.content["key_id"]
    statement = json.loads(base64.b64decode(envelope["payload"]))
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    fingerprint = open_source(FRAME).fingerprint()
    (subject,) = statement["subject"]
    assert (subject["name"], subject["digest"]) == ("visits", {fingerprint.scheme: fingerprint.digest})
    message = b"DSSEv1 28 application/vnd.in-toto+json %d %b" % (len(issued.payload), issued.payload)
    Ed25519PublicKey.from_public_bytes(KEY.public.raw).verify(bytes.fromhex(issued.signature), message)


def test_a_release_needs_only_public_keys_and_several_may_be_trusted(tmp_path):
    store_of(tmp_path)
    rotated = Keyring.of(OTHER_KEY, KEY.public)
    recipient = Keyring(public={KEY.id: KEY.public})
    for keys in (rotated, recipient):
        assert pp.CertificateStore(tmp_path, keys=keys).require(POLICY, open_source(FRAME)).passed
    refused(pp.CertificateStore(tmp_path, keys=Keyring.of(OTHER_KEY)), words="signed with another key")
    refused(pp.CertificateStore(tmp_path, keys=Keyring(public={})), words="no public key is trusted")
    with pytest.raises(CertificateError, match="no private key"):
        pp.CertificateStore(tmp_path, keys=recipient).record(POLICY.judge(FRAME, fingerprint=True))


def test_a_revoked_key_closes_the_gates_it_signed(tmp_path):
    store_of(tmp_path)
    verdict = POLICY.judge(FRAME, fingerprint=True)
    revoked = Keyring.of(OTHER_KEY, KEY.public, revoked=frozenset({KEY.id}))
    refused(pp.CertificateStore(tmp_path, keys=revoked), words=f"{KEY.id}, which is revoked")
    with pytest.raises(CertificateError, match="is revoked; make another one"):
        pp.CertificateStore(tmp_path, keys=Keyring.of(KEY, revoked=frozenset({KEY.id}))).record(verdict)


def test_the_id_of_a_trusted_key_does_not_lend_trust_to_another(tmp_path):
    issued = store_of(tmp_path).find("visits")
    forged = OTHER_KEY.sign(encode_envelope(certificate_module.PAYLOAD_TYPE, issued.payload))
    store = pp.CertificateStore(tmp_path, keys=KEYS)
    store.path("visits").write_text(replace(issued, signatures=((KEY.id, forged),)).to_json())
    refused(store, words="signed with another key")


def test_people_are_sealed_with_a_secret_that_cannot_sign(tmp_path):
    people = FRAME.assign(name=["a", "b", "c", "d"])
    store_of(tmp_path, frame=people, policy=BY_PEOPLE)
    public = {KEY.id: KEY.public}
    with_secret = Keyring(public=public, sealing={KEY.id: KEY.sealing})
    arguments = {"staged": open_source(FRAME), "judged": open_source(people)}
    assert pp.CertificateStore(tmp_path, keys=with_secret).require(BY_PEOPLE, **arguments).passed
    with pytest.raises(CertificateError, match="PRIVACY_PLUGIN_SEALING_SECRET"):
        pp.CertificateStore(tmp_path, keys=Keyring(public=public)).require(BY_PEOPLE, **arguments)
    assert KEY.sealing != KEY.seed


def test_a_certificate_of_the_earlier_format_is_refused_with_the_way_out(tmp_path):
    store = store_of(tmp_path)
    store.path("visits").write_text(json.dumps({"content": {"passed": True}, "signature": "0" * 64}))
    refused(store, words="earlier format.*judge the table again")


def test_a_statement_of_another_type_is_refused(tmp_path):
    store = store_of(tmp_path)
    issued = store.find("visits")
    for changes in ({"predicateType": "https://slsa.dev/provenance/v1"}, {"_type": "other"}, {"predicate": 5}):
        store.path("visits").write_text(resigned(issued, **changes).to_json())
        refused(store)


def test_a_certificate_lists_every_table_of_a_bundle(tmp_path):
    verdict = POLICY.judge(FRAME, fingerprint=True)
    frames = {"people": FRAME[["age"]], "values": FRAME[["disease"]]}
    tables = [
        ReleasedTable(name=name, fingerprints=(open_source(frame).fingerprint(),), target=f"{name}.parquet")
        for name, frame in frames.items()
    ]
    issued = Certificate.from_json(issue(verdict, keys=KEYS, tables=tables).to_json())
    assert issued.tables == tuple(tables)
    sources = {name: open_source(frame) for name, frame in frames.items()}
    require_tables(issued, sources)
    for wrong in ({"people": sources["people"]}, {**sources, "more": sources["people"]}):
        with pytest.raises(CertificateError, match="exactly the tables"):
            require_tables(issued, wrong)
    with pytest.raises(CertificateError, match="data changed"):
        require_tables(issued, {**sources, "values": open_source(FRAME[["disease"]][:3])})
    with pytest.raises(CertificateError, match="name of its own"):
        issue(verdict, keys=KEYS, tables=[tables[0], tables[0]])


def test_a_certificate_expires_when_the_policy_says_so(tmp_path):
    verdict = POLICY.judge(FRAME, fingerprint=True)
    store = pp.CertificateStore(tmp_path, keys=KEYS)
    store.record(replace(verdict, valid_until="2999-01-01T00:00:00+00:00"))
    assert store.require(POLICY, open_source(FRAME)).valid_until == "2999-01-01T00:00:00+00:00"
    for until in ("2020-01-01T00:00:00+00:00", "nonsense", "2999-01-01"):
        store.record(replace(verdict, valid_until=until))
        refused(store, words="was valid until")
