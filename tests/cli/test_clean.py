"""`clean`: what killed runs leave is shown, and removed or finished on request; what is in use stays."""

import os
import signal
from pathlib import Path

import pytest

from privacy_plugin.atomic_write import staging_path
from privacy_plugin.private_folder import PrivateFolder
from tests.cli.conftest import Run, document, words
from tests.processes import said, started

INTERRUPTED = """
    import os, signal, sys
    from pathlib import Path
    from privacy_plugin.private_folder import PrivateFolder
    from privacy_plugin.sources.sql.file_release import replace_files

    folder = Path(sys.argv[1])
    kept = PrivateFolder(folder, folder / "other.csv")
    with replace_files([folder / "people.csv", folder / "values.csv"]) as staging:
        for path in staging:
            path.write_text("new")
        replace = os.replace

        def die(source, target):
            if str(target).endswith("values.csv"):
                print("killed", flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
            replace(source, target)

        os.replace = die
"""


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with an interrupted release, a staging folder and a staging file of killed runs."""
    folder, temporary = tmp_path / "releases", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    (folder / "values.csv").write_text("old")
    with started(INTERRUPTED, str(folder)) as process:
        said(process, "killed")
    assert process.returncode == -signal.SIGKILL
    staged = staging_path(folder / "plan.json")
    staged.write_text("{}")
    os.utime(staged, (0, 0))
    return folder


def kinds(result: dict[str, list[dict[str, str]]]) -> list[tuple[str, str]]:
    return sorted((entry["kind"], entry["state"]) for entry in result["found"])


def test_what_is_left_is_shown_and_then_removed_or_finished(left: Path, run: Run) -> None:
    before = sorted(left.iterdir())
    used = PrivateFolder(left, left / "used.csv")
    shown = run("clean", left, "--json")
    assert shown.exit_code == 1
    assert kinds(document(shown)) == [
        ("release", "incomplete"),
        ("staging file", "left"),
        ("staging folder", "in use"),
        ("staging folder", "left"),
        ("staging folder", "left"),
    ]
    assert sorted(left.iterdir()) == sorted([*before, used.path])
    removed = run("clean", left, "--remove", "--json")
    assert removed.exit_code == 0
    assert ("release", "finished") in kinds(document(removed))
    assert {path.name for path in left.iterdir()} == {"people.csv", "values.csv", used.path.name}
    assert {(left / name).read_text() for name in ("people.csv", "values.csv")} == {"new"}
    used.close()
    assert "nothing was left" in run("clean", left).output


def test_files_of_an_interrupted_release_are_refused_until_it_is_finished(left: Path, run: Run) -> None:
    policy = left / "policy.yaml"
    policy.write_text(
        "dataset: visits\ncolumns: {new: quasi_identifier}\nrequirements: [{k_anonymity: {at_least: 2}}]\n"
    )
    for name in ("people.csv", "values.csv"):
        refused = run("check", left / name, "-p", policy)
        assert refused.exit_code == 2
        assert "is not complete" in words(refused)


def test_only_folders_are_looked_at_and_recent_files_stay(tmp_path: Path, run: Run) -> None:
    assert run("clean", tmp_path / "nowhere").exit_code == 2
    staged = staging_path(tmp_path / "plan.json")
    staged.write_text("{}")
    assert run("clean", tmp_path, "--remove").exit_code == 0
    assert staged.exists()
