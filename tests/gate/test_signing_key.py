"""The key that signs certificates: made once, for its user only, and never one that can be guessed."""

import os
import random
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import privacy_plugin as pp
from privacy_plugin.errors import CertificateError
from privacy_plugin.gate.certificate import issue
from privacy_plugin.gate.signing import KEY_VARIABLE, signing_key
from privacy_plugin.sources import open_source
from tests.certificates import FRAME, KEY, POLICY, store_of


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def test_the_key_file_is_created_once_and_private(home):
    key = signing_key()
    path = home / "privacy_plugin" / "signing.key"
    assert (len(key), key) == (32, signing_key())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["signing.key"]


def test_a_key_file_readable_by_others_is_rejected(home):
    signing_key()
    (home / "privacy_plugin" / "signing.key").chmod(0o644)
    with pytest.raises(CertificateError, match=f"other users can read .* or set {KEY_VARIABLE}"):
        signing_key()


def test_a_damaged_key_file_is_rejected(home):
    signing_key()
    (home / "privacy_plugin" / "signing.key").write_bytes(b"short")
    with pytest.raises(CertificateError, match="damaged"):
        signing_key()


def test_an_unwritable_key_folder_raises_an_error(home):
    (home / "privacy_plugin").write_text("a file where the folder should be")
    with pytest.raises(CertificateError, match=KEY_VARIABLE):
        signing_key()


def test_concurrent_processes_create_one_key(home):
    script = "from privacy_plugin.gate.signing import signing_key; print(signing_key().hex())"
    runs = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        here = {key.hex() for key in pool.map(lambda _: signing_key(), range(16))}
    keys = {run.communicate()[0].strip() for run in runs} | here
    assert len(keys) == 1


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give a file away")
def test_a_key_file_of_another_user_is_rejected(home):
    signing_key()
    os.chown(home / "privacy_plugin" / "signing.key", 12345, 12345)
    with pytest.raises(CertificateError, match=f"belongs to another user; set {KEY_VARIABLE} instead"):
        signing_key()


@pytest.mark.parametrize("given", ["", "settings"])
def test_no_key_is_created_in_the_working_directory(tmp_path, monkeypatch, given):
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", given)
    monkeypatch.setenv("HOME", "home")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CertificateError, match=f"set {KEY_VARIABLE}"):
        signing_key()
    assert list(tmp_path.iterdir()) == []


def test_a_key_of_any_bytes_is_accepted(monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, os.fsdecode(bytes(range(200, 232))))
    assert signing_key() == bytes(range(200, 232))


@pytest.mark.parametrize("key", [b"", b"short", "0123456789abcdef0123", None])
def test_a_weak_key_is_rejected(key):
    verdict = POLICY.judge(FRAME, fingerprint=True)
    with pytest.raises(CertificateError, match="at least 16"):
        issue(verdict, key=key)


PLAIN_KEYS = ["", "short", "fifteen letters", " " * 40, "changeme" * 4, "a" * 30 + "b", "0123456789abcde" * 2]


@pytest.mark.parametrize("given", PLAIN_KEYS)
def test_a_short_key_of_the_environment_is_rejected(monkeypatch, tmp_path, given):
    monkeypatch.setenv(KEY_VARIABLE, given)
    with pytest.raises(CertificateError, match="too short"):
        pp.CertificateStore(tmp_path)


def test_random_keys_of_the_required_length_are_accepted(monkeypatch):
    drawn = random.Random(7)
    for _ in range(2_000):
        given = f"{drawn.getrandbits(64):016x}"
        monkeypatch.setenv(KEY_VARIABLE, given)
        assert signing_key() == given.encode()


def test_the_key_of_the_environment_is_used(monkeypatch, tmp_path):
    monkeypatch.setenv(KEY_VARIABLE, KEY.decode())
    store_of(tmp_path)
    assert pp.CertificateStore(tmp_path).require(POLICY, open_source(FRAME)).passed
