"""Keys: made once, for their user only, never one that can be guessed; rotated and revoked."""

import os
import random
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import privacy_plugin as pp
from privacy_plugin.errors import CertificateError
from privacy_plugin.gate.keyring import (
    FOLDER_VARIABLE,
    KEY_VARIABLE,
    PUBLIC_KEYS_VARIABLE,
    SEALING_VARIABLE,
    KeyFolder,
    load_keyring,
)
from privacy_plugin.gate.signing import PublicKey, SigningKey
from privacy_plugin.sources import open_source
from tests.certificates import FRAME, KEY, POLICY, TEST_KEY, refused, store_of


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in (KEY_VARIABLE, FOLDER_VARIABLE, PUBLIC_KEYS_VARIABLE, SEALING_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "privacy_plugin" / "keys"


def first_key():
    return load_keyring(signing=True).signing_key


def test_the_first_key_is_created_once_and_private(home):
    assert load_keyring().public == {}
    key = first_key()
    assert first_key() == key
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in home.iterdir()}
    assert modes.pop(f"{key.id}.pub") & 0o222 == 0o200
    assert modes == {"first.key": 0o600, f"{key.id}.seal": 0o600}
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_pem_files_are_those_of_openssl(home):
    folder = KeyFolder(home, signing=True)
    key = folder.create()
    made = subprocess.run(
        ["openssl", "pkey", "-in", home / f"{key.id}.key", "-pubout"], capture_output=True, text=True, check=True
    )
    assert PublicKey.from_pem(made.stdout) == key.public
    generated = subprocess.run(
        ["openssl", "genpkey", "-algorithm", "ed25519"], capture_output=True, text=True, check=True
    )
    assert SigningKey.from_text(generated.stdout).public.raw


def test_a_published_signature_is_reproduced():
    """RFC 8032, section 7.1, test 2."""
    key = SigningKey(bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"))
    assert key.public.raw.hex() == "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
    assert key.sign(b"\x72").hex().startswith("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da")


def test_the_newest_key_signs_and_older_ones_stay_trusted(home, tmp_path):
    store_of(tmp_path / "c", keys=None)
    old = first_key()
    new = KeyFolder().create()
    assert first_key() == new
    store = pp.CertificateStore(tmp_path / "c")
    assert store.require(POLICY, open_source(FRAME)).key_ids == (old.id,)
    KeyFolder().revoke(old.id, reason="the laptop was lost")
    refused(store, words=f"{old.id}, which is revoked")
    store.record(POLICY.judge(FRAME, fingerprint=True))
    assert store.require(POLICY, open_source(FRAME)).key_ids == (new.id,)
    with pytest.raises(CertificateError, match="unknown key"):
        KeyFolder().revoke("0")


def test_a_release_on_another_machine_has_public_keys_only(home, tmp_path, monkeypatch):
    store_of(tmp_path / "c", keys=None)
    key = first_key()
    places = tmp_path / "public"
    places.mkdir()
    (places / "ours.pub").write_text(key.public.to_pem())
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "another machine"))
    refused(pp.CertificateStore(tmp_path / "c"), words="no public key is trusted")
    for place in (places, places / "ours.pub"):
        monkeypatch.setenv(PUBLIC_KEYS_VARIABLE, str(place))
        assert pp.CertificateStore(tmp_path / "c").require(POLICY, open_source(FRAME)).passed
        assert load_keyring().private is None
    monkeypatch.setenv(SEALING_VARIABLE, f"{key.id} {key.sealing.hex()}")
    assert load_keyring().sealing_secret(key.id) == key.sealing
    (places / f"{key.id}.revoked").write_text("{}")
    refused(pp.CertificateStore(tmp_path / "c"), words="revoked")


def test_key_folders_that_every_user_can_write_are_refused(home, tmp_path, monkeypatch):
    key = first_key()
    home.chmod(0o777)
    for attempt in (load_keyring, first_key):
        with pytest.raises(CertificateError, match="every user can write into the key folder"):
            attempt()
    home.chmod(0o700)
    (home / f"{key.id}.pub").chmod(0o666)
    with pytest.raises(CertificateError, match="every user can write the public key"):
        load_keyring()


def test_a_key_file_readable_by_others_is_rejected(home):
    first_key()
    (home / "first.key").chmod(0o644)
    with pytest.raises(CertificateError, match=f"other users can read .* or set {KEY_VARIABLE}"):
        first_key()


@pytest.mark.parametrize("content", ["short", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", ""])
def test_a_damaged_key_file_is_rejected(home, content):
    first_key()
    (home / "first.key").write_text(content)
    with pytest.raises(CertificateError, match=r"key file .* private key"):
        first_key()


def test_an_unwritable_key_folder_raises_an_error(home):
    home.parent.mkdir()
    home.write_text("a file where the folder should be")
    with pytest.raises(CertificateError, match=KEY_VARIABLE):
        first_key()


def test_concurrent_processes_create_one_key(home):
    script = "from privacy_plugin.gate.keyring import load_keyring; print(load_keyring(signing=True).signing_key.id)"
    runs = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    with ThreadPoolExecutor(8) as pool:
        here = {key.id for key in pool.map(lambda _: first_key(), range(8))}
    keys = {run.communicate()[0].strip() for run in runs} | here
    assert len(keys) == 1


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give a file away")
def test_a_key_file_of_another_user_is_rejected(home):
    first_key()
    os.chown(home / "first.key", 12345, 12345)
    with pytest.raises(CertificateError, match=f"belongs to another user; set {KEY_VARIABLE} instead"):
        first_key()


@pytest.mark.parametrize("given", ["", "settings"])
def test_no_key_is_created_in_the_working_directory(tmp_path, monkeypatch, given):
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", given)
    monkeypatch.setenv("HOME", "home")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CertificateError, match=f"set {KEY_VARIABLE}"):
        first_key()
    assert list(tmp_path.iterdir()) == []


PLAIN_KEYS = ["", "short", "a key for tests only", "00" * 32, "ab" * 32, bytes(range(32)).hex(), "0123456789abcdef" * 4,
              b"a passphrase of thirty-two bytes".hex(), bytes(range(0, 96, 3)).hex()]  # fmt: skip


@pytest.mark.parametrize("given", PLAIN_KEYS)
def test_a_weak_key_of_the_environment_is_rejected(monkeypatch, tmp_path, given):
    monkeypatch.setenv(KEY_VARIABLE, given)
    with pytest.raises(CertificateError, match=KEY_VARIABLE):
        pp.CertificateStore(tmp_path).record(POLICY.judge(FRAME, fingerprint=True))


def test_random_keys_are_accepted():
    drawn = random.Random(7)
    for _ in range(2_000):
        SigningKey(drawn.randbytes(32))


def test_the_key_of_the_environment_is_used(home, monkeypatch, tmp_path):
    monkeypatch.setenv(KEY_VARIABLE, TEST_KEY)
    store_of(tmp_path / "c", keys=None)
    assert pp.CertificateStore(tmp_path / "c").require(POLICY, open_source(FRAME)).key_ids == (KEY.id,)
    assert not home.exists()
