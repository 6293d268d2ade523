"""`keys`, `certify`, `release`, `verify`: the gate across runs, and what a recipient can check with the public key."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import duckdb
import pandas as pd
import pytest
import sqlalchemy as sa

from privacy_plugin.gate.certificate import issue, read_certificate, write_certificate
from privacy_plugin.gate.keyring import KeyFolder
from privacy_plugin.policy.policy import Policy
from tests.certificates import KEY, KEYS, OTHER_KEY
from tests.cli.conftest import Run, document, write_policy

SAFE = [{"k_anonymity": {"at_least": 2}}]


@pytest.fixture
def safe(folder: Path) -> Path:
    """A folder with a table that passes, as CSV and Parquet, the policy, and the public key."""
    frame = pd.DataFrame({"age": [30, 30, 41, 41], "illness": ["flu", "cold", "flu", None]})
    frame.to_csv(folder / "safe.csv", index=False)
    frame.to_parquet(folder / "safe.parquet")
    write_policy(folder, columns={"age": "quasi_identifier", "illness": "sensitive"}, requirements=SAFE)
    (folder / "k.pub").write_text(KEY.public.to_pem())
    (folder / "other.pub").write_text(OTHER_KEY.public.to_pem())
    return folder


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_recipient_verifies_a_released_file_with_the_public_key_alone(
    safe: Path, run: Run, suffix: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    policy, certificate = ("-p", safe / "policy.yaml"), ("-c", safe / "c.json")
    output = safe / f"released.{suffix}"
    assert run("certify", safe / f"safe.{suffix}", *policy, *certificate).exit_code == 0
    done = run("release", safe / f"safe.{suffix}", *policy, *certificate, "-o", output)
    assert done.exit_code == 0, done.output
    (written,) = safe.glob(f"released.{suffix}.*.certificate.json")
    assert read_certificate(written).release_name in written.name
    monkeypatch.delenv("PRIVACY_PLUGIN_KEY")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nothing"))
    verifying = ("verify", output, "--certificate", written)
    assert run(*verifying, "--public-key", safe / "k.pub").exit_code == 0
    assert run(*verifying, "--public-key", safe / "other.pub").exit_code == 1
    assert run(*verifying).exit_code == 1
    rows = duckdb.read_parquet(str(output)).df() if suffix == "parquet" else pd.read_csv(output)
    for number, changed in enumerate(
        (rows.assign(age=rows["age"] + 1), rows[:3], pd.concat([rows, rows[:1]]), rows.assign(name="a"), rows[["age"]])
    ):
        path = safe / f"changed{number}.{suffix}"
        changed.to_csv(path, index=False) if suffix == "csv" else changed.to_parquet(path)
        assert run("verify", path, "-c", written, "--public-key", safe / "k.pub").exit_code == 1


def test_a_table_of_a_database_is_verified_there_and_as_an_exported_file(safe: Path, run: Run) -> None:
    url = f"sqlite:///{safe / 'clinic.db'}"
    engine = sa.create_engine(url)
    pd.read_parquet(safe / "safe.parquet").to_sql("safe", engine, index=False)
    database, policy, certificate = ("--url", url), ("-p", safe / "policy.yaml"), ("-c", safe / "c.json")
    assert run("certify", *database, "--table", "safe", *policy, *certificate).exit_code == 0
    done = run("release", *database, "--table", "safe", *policy, *certificate, "-o", "released")
    assert done.exit_code == 0, done.output
    key = ("--public-key", safe / "k.pub")
    assert run("verify", *database, "--table", "released", *certificate, *key).exit_code == 0
    exported = pd.read_sql_table("released", engine)
    exported.to_parquet(safe / "exported.parquet")
    assert run("verify", safe / "exported.parquet", *certificate, *key).exit_code == 0
    exported.assign(age=30).to_parquet(safe / "exported.parquet")
    assert run("verify", safe / "exported.parquet", *certificate, *key).exit_code == 1


def test_nothing_is_released_without_a_certificate_for_exactly_this_table(safe: Path, run: Run) -> None:
    policy, certificate, output = ("-p", safe / "policy.yaml"), ("-c", safe / "c.json"), safe / "released.csv"
    releasing = ("release", safe / "safe.csv", *policy, *certificate, "-o", output)
    assert run(*releasing).exit_code == 2
    assert run("certify", safe / "safe.csv", *policy, *certificate).exit_code == 0
    (safe / "safe.csv").write_text("age,illness\n30,flu\n30,cold\n41,flu\n41,acne\n")
    assert run(*releasing).exit_code == 1
    write_policy(safe, columns={"age": "quasi_identifier", "illness": "sensitive"}, requirements=[{"preset": "k5"}])
    assert run("certify", safe / "safe.csv", *policy, *certificate).exit_code == 1
    refused = run(*releasing)
    assert refused.exit_code == 1
    assert run("verify", safe / "safe.csv", *certificate, "--public-key", safe / "k.pub").exit_code == 1
    assert not output.exists()


def test_an_expired_certificate_releases_and_verifies_nothing(safe: Path, run: Run) -> None:
    columns = {"age": "quasi_identifier", "illness": "sensitive"}
    write_policy(safe, columns=columns, requirements=SAFE, valid_for="90 days")
    assert run("certify", safe / "safe.csv", "-p", safe / "policy.yaml", "-c", safe / "c.json").exit_code == 0
    assert read_certificate(safe / "c.json").valid_until
    for wrong in (90, "90", "0 days", "-1 days", "9999999 days", "3 years", []):
        write_policy(safe, columns=columns, requirements=SAFE, valid_for=wrong)
        assert run("check", safe / "safe.csv", "-p", safe / "policy.yaml").exit_code == 2


def test_keys_are_made_listed_and_revoked(safe: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRIVACY_PLUGIN_KEY")
    monkeypatch.setenv("PRIVACY_PLUGIN_KEY_FOLDER", str(safe / "keys"))
    assert run("keys", "new").exit_code == 0
    (old,) = KeyFolder().private_keys()
    certify = ("certify", safe / "safe.csv", "-p", safe / "policy.yaml", "-c", safe / "c.json")
    release = ("release", *certify[1:], "--force", "-o", safe / "released.csv")
    assert run(*certify).exit_code == 0
    assert run("keys", "new").exit_code == 0
    assert run(*release).exit_code == 0
    assert run("keys", "revoke", old.id, "--reason", "lost").exit_code == 0
    assert "revoked" in run("keys", "list").output
    assert run(*release).exit_code == 1
    assert run(*certify).exit_code == 0
    assert run(*release).exit_code == 0
    assert run("keys", "revoke", "unknown").exit_code == 2


KILLED = """
import os, signal, sys
from pathlib import Path
from privacy_plugin.gate import certificate
from privacy_plugin.sources.sql import file_release
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
step = sys.argv.pop(1)
written, replaced = certificate.write_certificate, file_release._replace_all
def after(original):
    def call(*arguments, **options):
        original(*arguments, **options)
        die()
    return call
if step == "before the certificate":
    certificate.write_certificate = die
elif step == "after the certificate":
    certificate.write_certificate = after(written)
elif step == "before the table":
    file_release._replace_all = die
else:
    file_release._replace_all = after(replaced)
from privacy_plugin.cli import main
main()
"""


@pytest.mark.parametrize(
    "step", ["before the certificate", "after the certificate", "before the table", "after the table"]
)
def test_a_killed_release_leaves_no_table_without_its_certificate(safe: Path, run: Run, step: str) -> None:
    policy, certificate, output = ("-p", safe / "policy.yaml"), ("-c", safe / "c.json"), safe / "released.csv"
    arguments = ("release", safe / "safe.csv", *policy, *certificate, "-o", output, "--force")
    assert run("certify", safe / "safe.csv", *policy, *certificate).exit_code == 0
    assert run(*arguments).exit_code == 0
    (safe / "safe.csv").write_text("age,illness\n30,flu\n30,cold\n41,flu\n41,acne\n")
    assert run("certify", safe / "safe.csv", *policy, *certificate).exit_code == 0
    killed = subprocess.run([sys.executable, "-c", KILLED, step, *map(str, arguments)], check=False, env=os.environ)
    assert killed.returncode == -signal.SIGKILL
    verified = [
        path
        for path in safe.glob("released.csv.*.certificate.json")
        if run("verify", output, "-c", path, "--public-key", safe / "k.pub").exit_code == 0
    ]
    assert len(verified) == 1
    assert ("acne" in output.read_text()) == (step == "after the table")


def test_a_recipient_with_a_revocation_list_verifies_nothing_of_a_revoked_key(
    safe: Path, run: Run, tmp_path: Path
) -> None:
    policy, certificate = ("-p", safe / "policy.yaml"), ("-c", safe / "c.json")
    assert run("certify", safe / "safe.csv", *policy, *certificate).exit_code == 0
    keys = tmp_path / "keys"
    keys.mkdir()
    public = keys / "publisher.pub"
    public.write_text(KEY.public.to_pem())
    verifying = ("verify", safe / "safe.csv", *certificate, "--public-key", public)
    assert run(*verifying).exit_code == 0
    revocation_list = tmp_path / "revoked.txt"
    revocation_list.write_text(f"# lost\n{OTHER_KEY.id}\n")
    assert run(*verifying, "--revoked", revocation_list).exit_code == 0
    revocation_list.write_text(f"{OTHER_KEY.id}\n{KEY.id}  # stolen\n")
    refused = run(*verifying, "--revoked", revocation_list)
    assert refused.exit_code == 1
    assert "revoked" in refused.output
    for unreadable in ("a note", "{}", "[]", KEY.id[:-1]):
        revocation_list.write_text(unreadable)
        assert run(*verifying, "--revoked", revocation_list).exit_code == 2
    assert run(*verifying, "--revoked", tmp_path / "nowhere").exit_code == 2
    assert run("verify", safe / "safe.csv", *certificate, "--revoked", revocation_list).exit_code == 2
    record = keys / f"{KEY.id}.revoked"
    record.write_text(f'{{"key": "{KEY.id}"}}')
    assert run(*verifying).exit_code == 1  # next to the public key
    elsewhere = record.rename(tmp_path / "elsewhere.revoked")
    assert run(*verifying, "--revoked", elsewhere).exit_code == 1


def test_a_certificate_that_has_expired_verifies_nothing(safe: Path, run: Run) -> None:
    verdict = Policy.load(safe / "policy.yaml").judge(safe / "safe.csv", fingerprint=True)
    for until, code in (("2001-01-01T00:00:00+00:00", 1), ("2999-01-01T00:00:00+00:00", 0), ("soon", 1)):
        write_certificate(safe / "c.json", issue(replace(verdict, valid_until=until), keys=KEYS))
        result = run("verify", safe / "safe.csv", "-c", safe / "c.json", "--public-key", safe / "k.pub")
        assert result.exit_code == code
        assert ("was valid until" in result.output) == (code == 1)


def test_each_file_of_a_pair_is_verified_alone(folder: Path, run: Run) -> None:
    frame = pd.DataFrame({"age": [30, 40] * 6, "illness": ["flu", "cold", "gout"] * 4})
    frame.to_csv(folder / "pairs.csv", index=False)
    write_policy(
        folder,
        columns={"age": "quasi_identifier", "illness": "sensitive"},
        requirements=[{"maximum_disclosure": {"knowledge": 1, "below": 0.9}}],
        anonymize={"method": "bucketize", "knowledge": 1, "below": 0.9},
    )
    policy, certificate, output = ("-p", folder / "policy.yaml"), ("-c", folder / "c.json"), folder / "pair.csv"
    done = run("anonymize", folder / "pairs.csv", *policy, "-o", output)
    assert done.exit_code == 0, done.output
    assert run("certify", output, *policy, *certificate).exit_code == 0
    (folder / "k.pub").write_text(KEY.public.to_pem())
    for name in ("people", "values"):
        path = folder / f"pair_{name}.csv"
        verifying = ("verify", path, *certificate, "--public-key", folder / "k.pub")
        verified = run(*verifying, "--json")
        assert verified.exit_code == 0
        assert document(verified)["table"] == name
        assert document(verified)["others"] == [{"people": "values", "values": "people"}[name]]
        lines = path.read_text().splitlines()
        path.write_text("\n".join([*lines[:-1], ""]))
        assert run(*verifying).exit_code == 1
