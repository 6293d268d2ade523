import copy
import json
import os
import random
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin import certificate as certificate_module
from privacy_plugin.certificate import KEY_VARIABLE, Certificate, issue, require_certificate, signing_key
from privacy_plugin.errors import CertificateError
from privacy_plugin.sources import open_source

KEY = b"0123456789abcdef0123456789abcdef"
GIVEN = {
    "dataset": "visits",
    "columns": {"name": "identifier", "age": "quasi_identifier", "disease": "sensitive"},
    "requirements": [{"k_anonymity": {"at_least": 2}}],
}
POLICY = pp.Policy.from_dict(GIVEN)
FRAME = pd.DataFrame({"age": [30, 30, 41, 41], "disease": ["flu", "cold", "flu", None]})


def store_of(tmp_path, *, frame=FRAME, policy=POLICY, partition=None):
    store = pp.CertificateStore(tmp_path, key=KEY)
    store.record(policy.judge(frame, partition=partition, fingerprint=True))
    return store


def refused(store, *, frame=FRAME, policy=POLICY, partition=None, words=None):
    with pytest.raises(CertificateError, match=words):
        store.require(policy, open_source(frame), partition=partition)


def test_exactly_the_judged_data_may_leave(tmp_path):
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
def test_data_that_changed_after_its_checks_may_not_leave(tmp_path, change):
    refused(store_of(tmp_path), frame=change(FRAME), words="changed after")


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.assign(name=["a", "b", "c", "d"]),
        lambda f: f.assign(phone="1"),
        lambda f: f.drop(columns="disease"),
    ],
)
def test_a_release_has_the_judged_columns_and_no_other(tmp_path, change):
    """The fingerprint covers the released columns only: a copy with the names beside them would match it."""
    refused(store_of(tmp_path), frame=change(FRAME), words="exactly the columns")


def test_without_a_certificate_nothing_leaves(tmp_path):
    store = pp.CertificateStore(tmp_path / "not" / "made", key=KEY)
    refused(store, words="no gate has judged dataset 'visits'")
    refused(store, partition="2024-01", words="partition '2024-01' of dataset 'visits'")
    with pytest.raises(CertificateError):
        require_certificate(None, policy=POLICY, staged=open_source(FRAME), key=KEY)


def test_a_refusal_takes_the_place_of_an_older_certificate(tmp_path):
    store = store_of(tmp_path)
    bad = FRAME.assign(age=[1, 2, 3, 4])
    certificate = store.record(POLICY.judge(bad, fingerprint=True))
    assert not certificate.passed
    refused(store, frame=bad, words="is closed: k-anonymity is 1")
    refused(store, words="is closed")  # even the older data has to be judged again


def test_a_table_that_could_not_be_judged_leaves_a_refusal(tmp_path):
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
def test_a_certificate_of_another_policy_is_no_certificate(tmp_path, given):
    refused(store_of(tmp_path), policy=pp.Policy.from_dict(given), words="another policy digest")


def test_a_certificate_of_another_partition_or_dataset_is_no_certificate(tmp_path):
    store = store_of(tmp_path, partition="2024-01")
    assert store.require(POLICY, open_source(FRAME), partition="2024-01").passed
    for other in ("2024-02", None, ""):
        refused(store, partition=other, words="no gate has judged")
        january = store.path("visits", "2024-01")
        store.path("visits", other).write_bytes(january.read_bytes())
        refused(store, partition=other, words="another partition")
    policy = pp.Policy.from_dict({**GIVEN, "dataset": "stays"})
    store.path("stays").write_bytes(january.read_bytes())
    refused(store, policy=policy, words="another dataset")


def test_a_certificate_of_another_version_of_the_package_is_no_certificate(tmp_path, monkeypatch):
    """What a later version finds, an earlier one may have missed."""
    store = store_of(tmp_path)
    own = certificate_module.version
    monkeypatch.setattr(certificate_module, "version", lambda name: "9.9" if name == "privacy-plugin" else own(name))
    refused(store, words="another version of privacy-plugin")
    store_of(tmp_path)
    assert store.require(POLICY, open_source(FRAME)).passed


BY_PEOPLE = pp.Policy.from_dict({**GIVEN, "columns": {**GIVEN["columns"], "name": "unit"}})


def test_a_certificate_of_an_earlier_build_says_what_to_do(tmp_path):
    """Such a one did not name yet whose the rows are, which must not sound as if those had changed."""
    people = FRAME.assign(name=["a", "b", "c", "d"])
    issued = store_of(tmp_path, frame=people, policy=BY_PEOPLE).find("visits")
    earlier = {name: value for name, value in issued.content.items() if name != "people_fingerprint"} | {"format": 1}
    certificate = Certificate(content=earlier, signature=certificate_module._sign(earlier, KEY))
    with pytest.raises(CertificateError, match="another build of this one; judge this table again"):
        require_certificate(
            certificate, policy=BY_PEOPLE, staged=open_source(FRAME), judged=open_source(people), key=KEY
        )


def test_a_certificate_binds_whose_the_rows_are(tmp_path):
    people = FRAME.assign(name=["a", "b", "c", "d"])
    store = store_of(tmp_path, frame=people, policy=BY_PEOPLE)
    staged = open_source(FRAME)
    assert store.require(BY_PEOPLE, staged, judged=open_source(people)).passed
    with pytest.raises(CertificateError, match="the release needs the table that has it"):
        store.require(BY_PEOPLE, staged)
    with pytest.raises(CertificateError, match="do not belong to the people who were judged"):
        store.require(BY_PEOPLE, staged, judged=open_source(people.assign(name="a")))


def test_a_certificate_binds_the_population(tmp_path):
    register = pd.DataFrame({"age": [30, 41] * 3})
    policy = pp.Policy.from_dict({**GIVEN, "requirements": [{"k_map": {"at_least": 3}}]})
    store = pp.CertificateStore(tmp_path, key=KEY)
    store.record(policy.judge(FRAME, population=register, fingerprint=True))
    staged = open_source(FRAME)
    named = register.assign(name="not compared with")
    assert store.require(policy, staged, population=open_source(named)).passed
    with pytest.raises(CertificateError, match="the release needs it too"):
        store.require(policy, staged)
    with pytest.raises(CertificateError, match="not the one that was compared with"):
        store.require(policy, staged, population=open_source(register[:5]))


def leaves(value, path=()):
    if isinstance(value, dict) and value:
        return [leaf for key, item in value.items() for leaf in leaves(item, (*path, key))]
    if isinstance(value, list) and value:
        return [leaf for number, item in enumerate(value) for leaf in leaves(item, (*path, number))]
    return [(path, value)]


def test_any_field_that_is_changed_added_or_removed_is_noticed(tmp_path):
    store = store_of(tmp_path)
    path = store.path("visits")
    original = json.loads(path.read_text())
    places = leaves(original["content"])
    assert len(places) > 30
    for (*parents, last), value in places:
        for damage in ("change", "remove"):
            tampered = copy.deepcopy(original)
            inner = tampered["content"]
            for name in parents:
                inner = inner[name]
            if damage == "remove":
                del inner[last]
            else:
                inner[last] = (not value) if isinstance(value, bool) else f"{value} "
            path.write_text(json.dumps(tampered))
            refused(store, words="changed after it was issued")
    original["content"]["extra"] = 1
    path.write_text(json.dumps(original))
    refused(store, words="changed after it was issued")


def test_a_refusal_cannot_be_turned_into_a_pass(tmp_path):
    bad = FRAME.assign(age=[1, 2, 3, 4])
    store = store_of(tmp_path, frame=bad)
    path = store.path("visits")
    forged = json.loads(path.read_text())
    forged["content"]["passed"] = True
    path.write_text(json.dumps(forged))
    refused(store, frame=bad, words="changed after it was issued")


@pytest.mark.parametrize("signature", ["", "0" * 64, "é" * 64, None, 5, [1], "\ud800"])
def test_a_false_signature_is_noticed(tmp_path, signature):
    store = store_of(tmp_path)
    path = store.path("visits")
    path.write_text(json.dumps({**json.loads(path.read_text()), "signature": signature}))
    refused(store)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"{}", b'{"content": {}}', b'{"content": 5, "signature": "x"}', b"\xff\xfe",
     b"[" * 10**5],
    ids=lambda content: repr(content[:30]),
)  # fmt: skip
def test_a_damaged_certificate_is_no_certificate(tmp_path, content):
    store = store_of(tmp_path)
    store.path("visits").write_bytes(content)
    refused(store)


def test_a_certificate_that_cannot_be_read_is_no_certificate(tmp_path):
    store = store_of(tmp_path)
    store.path("visits").unlink()
    store.path("visits").mkdir()
    refused(store, words="cannot be read")


def test_another_key_is_another_issuer(tmp_path):
    store_of(tmp_path)
    refused(pp.CertificateStore(tmp_path, key=KEY[::-1]), words="signed with another key")


@pytest.mark.parametrize("key", [b"", b"short", "0123456789abcdef0123", None])
def test_a_key_that_can_be_guessed_is_refused(key):
    verdict = POLICY.judge(FRAME, fingerprint=True)
    with pytest.raises(CertificateError, match="at least 16"):
        issue(verdict, key=key)


def test_a_pass_without_a_fingerprint_is_not_signed(tmp_path):
    with pytest.raises(CertificateError, match="without a fingerprint"):
        pp.CertificateStore(tmp_path, key=KEY).record(POLICY.judge(FRAME))
    assert list(tmp_path.iterdir()) == []


def test_a_certificate_holds_what_was_verified_and_no_value(tmp_path):
    frame = pd.DataFrame({"age": ["marker"] * 2, "disease": ["marker"] * 2})
    certificate = pp.CertificateStore(tmp_path, key=KEY).record(POLICY.judge(frame, fingerprint=True))
    assert "marker" not in certificate.to_json()
    assert certificate.content["policy_digest"] == POLICY.digest
    assert certificate.content["findings"][0]["value"] == 2
    assert certificate.content["fingerprint"]["rows"] == 2
    assert set(certificate.content["versions"]) >= {"python", "numpy", "pandas"}
    assert certificate.content["judged_at"]
    assert Certificate.from_json(certificate.to_json()) == certificate


def test_the_store_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    store = store_of(tmp_path)
    before = store.path("visits").read_bytes()

    def fails(source, target):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(CertificateError, match=r"cannot be written .*: OSError"):
        store.record(POLICY.judge(FRAME.assign(age=1), fingerprint=True))
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]


def test_many_gates_may_write_at_once(tmp_path):
    store = pp.CertificateStore(tmp_path, key=KEY)
    verdict = POLICY.judge(FRAME, fingerprint=True)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: store.record(replace(verdict, partition=str(n % 2))), range(40)))
    assert len(list(tmp_path.iterdir())) == 2
    assert store.find("visits", "0").passed
    assert store.find("visits", "1").passed


def test_names_of_any_characters_have_files_of_their_own(tmp_path):
    store = pp.CertificateStore(tmp_path, key=KEY)
    names = ["../visits", "a/b", "a-b", "a b", "é" * 300, "", "CON"]
    paths = {store.path(name, partition) for name in names for partition in (None, "", "../x", "None")}
    assert len(paths) == len(names) * 4
    assert {path.parent for path in paths} == {tmp_path}


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def test_the_key_is_made_once_for_its_user_only(home):
    key = signing_key()
    path = home / "privacy_plugin" / "signing.key"
    assert (len(key), key) == (32, signing_key())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["signing.key"]


def test_a_key_that_others_can_read_proves_nothing(home):
    signing_key()
    (home / "privacy_plugin" / "signing.key").chmod(0o644)
    with pytest.raises(CertificateError, match=f"others can read .* or set {KEY_VARIABLE}"):
        signing_key()


def test_a_damaged_key_is_not_used(home):
    signing_key()
    (home / "privacy_plugin" / "signing.key").write_bytes(b"short")
    with pytest.raises(CertificateError, match="damaged"):
        signing_key()


def test_a_key_that_cannot_be_kept_is_told(home):
    (home / "privacy_plugin").write_text("a file where the folder should be")
    with pytest.raises(CertificateError, match=KEY_VARIABLE):
        signing_key()


def test_whoever_comes_first_makes_the_key(home):
    script = "from privacy_plugin.certificate import signing_key; print(signing_key().hex())"
    runs = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        here = {key.hex() for key in pool.map(lambda _: signing_key(), range(16))}
    keys = {run.communicate()[0].strip() for run in runs} | here
    assert len(keys) == 1


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give a file away")
def test_a_key_that_belongs_to_another_proves_nothing(home):
    signing_key()
    os.chown(home / "privacy_plugin" / "signing.key", 12345, 12345)
    with pytest.raises(CertificateError, match=f"belongs to another user; set {KEY_VARIABLE} instead"):
        signing_key()


@pytest.mark.parametrize("given", ["", "settings"])
def test_no_key_is_made_in_the_folder_one_happens_to_work_in(tmp_path, monkeypatch, given):
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", given)
    monkeypatch.setenv("HOME", "home")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CertificateError, match=f"set {KEY_VARIABLE}"):
        signing_key()
    assert list(tmp_path.iterdir()) == []


def test_a_key_of_any_bytes_is_used(monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, os.fsdecode(bytes(range(200, 232))))
    assert signing_key() == bytes(range(200, 232))


PLAIN_KEYS = ["", "short", "fifteen letters", " " * 40, "changeme" * 4, "a" * 30 + "b", "0123456789abcde" * 2]


@pytest.mark.parametrize("given", PLAIN_KEYS)
def test_a_short_key_of_the_environment_is_refused(monkeypatch, tmp_path, given):
    monkeypatch.setenv(KEY_VARIABLE, given)
    with pytest.raises(CertificateError, match="too short"):
        pp.CertificateStore(tmp_path)


def test_no_random_key_of_the_stated_length_is_refused(monkeypatch):
    drawn = random.Random(7)
    for _ in range(2_000):
        given = f"{drawn.getrandbits(64):016x}"
        monkeypatch.setenv(KEY_VARIABLE, given)
        assert signing_key() == given.encode()


def test_the_key_of_the_environment_is_used(monkeypatch, tmp_path):
    monkeypatch.setenv(KEY_VARIABLE, KEY.decode())
    store_of(tmp_path)
    assert pp.CertificateStore(tmp_path).require(POLICY, open_source(FRAME)).passed
