"""Exactly what was judged may leave: a certificate binds data, policy, partition, people and population."""

import json
import os
import subprocess
import sys

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.errors import CertificateError
from privacy_plugin.gate import certificate as certificate_module
from privacy_plugin.gate.certificate import Certificate, require_certificate
from privacy_plugin.gate.signing import KEY_VARIABLE, sign
from privacy_plugin.sources import open_source
from tests.certificates import FRAME, GIVEN, KEY, POLICY, refused, store_of


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
    environment = {**os.environ, KEY_VARIABLE: KEY.decode()}
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
    store = pp.CertificateStore(tmp_path / "not" / "made", key=KEY)
    refused(store, words="no certificate for dataset 'visits'")
    refused(store, partition="2024-01", words="partition '2024-01' of dataset 'visits'")
    with pytest.raises(CertificateError):
        require_certificate(None, policy=POLICY, staged=open_source(FRAME), key=KEY)


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
    certificate = Certificate(content=earlier, signature=sign(earlier, KEY))
    with pytest.raises(CertificateError, match="another version or build of privacy-plugin; judge this table again"):
        require_certificate(
            certificate, policy=BY_PEOPLE, staged=open_source(FRAME), judged=open_source(people), key=KEY
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
        written = json.dumps(verdict.to_dict()) + pp.CertificateStore(tmp_path, key=KEY).record(verdict).to_json()
        assert hidden.digest not in written
        assert verdict.fingerprint.digest in written


def test_a_refusal_contains_no_digest_of_the_table(tmp_path):
    strict = pp.Policy.from_dict({**GIVEN, "requirements": [{"k_anonymity": {"at_least": 50}}]})
    verdict = strict.judge(FRAME, fingerprint=True)
    written = json.dumps(verdict.to_dict()) + pp.CertificateStore(tmp_path, key=KEY).record(verdict).to_json()
    assert verdict.fingerprint.digest not in written


def test_a_certificate_covers_the_population(tmp_path):
    register = pd.DataFrame({"age": [30, 41] * 3})
    policy = pp.Policy.from_dict({**GIVEN, "requirements": [{"k_map": {"at_least": 3}}]})
    store = pp.CertificateStore(tmp_path, key=KEY)
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
        pp.CertificateStore(tmp_path, key=KEY).record(POLICY.judge(FRAME))
    assert list(tmp_path.iterdir()) == []


def test_a_certificate_contains_no_value_of_the_table(tmp_path):
    frame = pd.DataFrame({"age": ["marker"] * 2, "disease": ["marker"] * 2})
    certificate = pp.CertificateStore(tmp_path, key=KEY).record(POLICY.judge(frame, fingerprint=True))
    assert "marker" not in certificate.to_json()
    assert certificate.content["policy_digest"] == POLICY.digest
    assert certificate.content["findings"][0]["value"] == 2
    assert certificate.content["fingerprint"]["rows"] == 2
    assert set(certificate.content["versions"]) >= {"python", "numpy", "pandas"}
    assert certificate.content["judged_at"]
    assert Certificate.from_json(certificate.to_json()) == certificate
