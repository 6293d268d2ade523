"""Several files are replaced together or not at all, also by a process that is killed at any step."""

import json
import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from privacy_plugin.errors import ParameterError, SourceError
from privacy_plugin.private_folder import PrivateFolder, find_private_folders
from privacy_plugin.sources import open_source
from privacy_plugin.sources.sql.file_release import find_journals, finish_release, replace_files
from tests.processes import said, started


@pytest.mark.parametrize("old", ["old", None])
def test_a_file_that_cannot_be_put_in_place_leaves_the_other_where_it_was(old: str | None, tmp_path: Path) -> None:
    people, values = tmp_path / "people.csv", tmp_path / "values.csv"
    if old is not None:
        people.write_text(old)

    def replace_both() -> None:
        with replace_files([people, values]) as temporaries:
            for temporary in temporaries:
                temporary.write_text("new")
            values.mkdir()  # another process is quicker

    with pytest.raises(SourceError, match="Is a directory"):
        replace_both()
    assert (people.read_text() if people.exists() else None) == old
    assert {path.name for path in tmp_path.iterdir()} == {"values.csv", *(["people.csv"] if old else [])}


def test_both_are_put_in_place(tmp_path: Path) -> None:
    paths = [tmp_path / "people.csv", tmp_path / "values.csv"]
    with replace_files(paths) as temporaries:
        for temporary in temporaries:
            temporary.write_text("new")
            assert stat.S_IMODE(temporary.parent.stat().st_mode) == 0o700
    assert [path.read_text() for path in paths] == ["new", "new"]
    assert sorted(tmp_path.iterdir()) == paths


def test_files_that_are_released_together_must_be_in_one_folder(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with (
        pytest.raises(ParameterError, match="in two folders"),
        replace_files([tmp_path / "people.csv", tmp_path / "other" / "values.csv"]),
    ):
        pass


NAMES = ("people.csv", "values.csv", "notes.csv")
CALLS = ("replace", "link", "unlink", "mkdir", "fsync", "open", "rmdir")


def killed(folder: Path, step: int) -> bool:
    """Replace the files in a process that is killed at a system call; returns whether it came that far."""
    child = os.fork()
    if child == 0:
        done = 0

        def die_at_its_turn(call: Callable[..., Any]) -> Callable[..., Any]:
            def counted(*arguments: Any, **options: Any) -> Any:
                nonlocal done
                if done == step:
                    os.kill(os.getpid(), signal.SIGKILL)
                done += 1
                return call(*arguments, **options)

            return counted

        for name in CALLS:
            setattr(os, name, die_at_its_turn(getattr(os, name)))
        try:
            with replace_files([folder / name for name in NAMES]) as staging:
                for path in staging:
                    path.write_text("state\nnew\n")
        finally:
            os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL)
    return code != 0


def states(folder: Path) -> set[str]:
    """Return what readers see: the states of the three files, or that one of them is refused."""
    found = set()
    for name in NAMES:
        if not (folder / name).exists() and not find_journals(folder):
            found.add("none")
            continue
        try:
            found |= set(open_source(folder / name).frequencies(["state"]).dictionary("state"))
        except SourceError:
            found.add("refused")
    return found


@pytest.mark.parametrize("old", [True, False], ids=["replaced", "new"])
def test_a_kill_at_any_step_leaves_all_old_or_all_new_or_a_release_that_the_next_run_finishes(
    old: bool, tmp_path: Path
) -> None:
    before = "old" if old else "none"
    seen: list[frozenset[str]] = []
    step = 0
    while True:
        folder = tmp_path / str(step)
        folder.mkdir()
        for name in NAMES if old else ():
            (folder / name).write_text("state\nold\n")
        if not killed(folder, step):
            break
        found = states(folder)
        assert found in ({before}, {"new"}, {"refused"})
        for left in find_private_folders(folder):
            assert stat.S_IMODE(left.stat().st_mode) == 0o700
        others = {path.name for path in folder.iterdir() if path.name not in NAMES}
        assert all(name.startswith(".privacy_plugin_") for name in others)
        if found == {"refused"}:
            (journal,) = find_journals(folder)
            assert json.loads(journal.read_text()) == list(NAMES)
            with pytest.raises(RuntimeError), replace_files([folder / NAMES[1]]):
                raise RuntimeError  # this run publishes nothing itself
            assert states(folder) == {"new"}
        with replace_files([folder / name for name in NAMES]) as staging:
            for path in staging:
                path.write_text("state\nnewest\n")
        assert states(folder) == {"newest"}
        kept = {path.name for path in folder.iterdir()} - set(NAMES)
        assert all(".journal." in name for name in kept)  # an empty staging file of the journal, for `clean`
        seen.append(frozenset(found))
        step += 1
    assert {frozenset({before}), frozenset({"refused"}), frozenset({"new"})} == set(seen)
    # old until the journal is there, then refused until all are in place
    assert seen == sorted(seen, key=[frozenset({before}), frozenset({"refused"}), frozenset({"new"})].index)


def test_a_release_that_cannot_be_finished_stays_closed(tmp_path: Path) -> None:
    for step in range(99):
        folder = tmp_path / str(step)
        folder.mkdir()
        assert killed(folder, step)
        if find_journals(folder):
            break
    (folder / NAMES[2]).mkdir()
    (journal,) = find_journals(folder)
    for _ in range(2):
        with pytest.raises(SourceError, match=r"cannot be finished.*delete"):
            finish_release(journal)
    assert find_journals(folder) == [journal]
    (folder / NAMES[2]).rmdir()
    assert finish_release(journal) == NAMES
    assert states(folder) == {"new"}


def test_a_journal_names_files_of_its_own_folder_only(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("state\nold\n")
    journal = tmp_path / ".privacy_plugin_x.journal"
    for wrong in (["../people.csv"], ["/etc/passwd"], [1], [], {}, "people.csv", [".."]):
        journal.write_text(json.dumps(wrong))
        with pytest.raises(SourceError, match="malformed"):
            open_source(tmp_path / "people.csv")


HOLDS = """
    import sys, time
    from pathlib import Path
    from privacy_plugin.private_folder import PrivateFolder

    folder = PrivateFolder(Path(sys.argv[1]), Path(sys.argv[1]) / "released.csv")
    (folder.path / "raw.csv").write_text("a secret")
    print("staged", flush=True)
    time.sleep(600)
"""


def test_a_folder_in_use_stays_and_that_of_a_killed_run_goes(tmp_path: Path) -> None:
    target = tmp_path / "released.csv"
    with started(HOLDS, str(tmp_path)) as process:
        said(process, "staged")
        (used,) = find_private_folders(tmp_path)
        PrivateFolder(tmp_path, target).close()
        assert find_private_folders(tmp_path) == [used]
        process.send_signal(signal.SIGKILL)
    PrivateFolder(tmp_path, tmp_path / "another.csv").close()
    assert find_private_folders(tmp_path) == [used]  # of another target, which may be on a system without locks
    PrivateFolder(tmp_path, target).close()
    assert find_private_folders(tmp_path) == []


def test_a_folder_of_the_name_that_is_not_ours_stays(tmp_path: Path) -> None:
    target = tmp_path / "released.csv"
    own = PrivateFolder(tmp_path, target)
    own.close()
    own.path.mkdir(0o755)
    (tmp_path / "elsewhere").mkdir(0o700)
    own.path.with_name(f"{own.path.name}2").symlink_to(tmp_path / "elsewhere")
    PrivateFolder(tmp_path, target).close()
    assert own.path.is_dir()
    assert (tmp_path / "elsewhere").is_dir()


@pytest.mark.parametrize("names", [NAMES[:1], NAMES[:2]], ids=["one", "several"])
def test_contents_are_on_the_disk_before_their_names(
    names: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, replace, unlink = os.fsync, os.replace, os.unlink

    def recorded_fsync(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        inside = "folder" if path == tmp_path else "staging folder" if path.is_dir() else "file"
        steps.append("sync journal" if ".journal" in path.name else f"sync {inside}")
        fsync(descriptor)

    def recorded_replace(source: Path, target: Path) -> None:
        steps.append("write journal" if str(target).endswith(".journal") else f"put {Path(target).name} in place")
        replace(source, target)

    def recorded_unlink(path: Path, **options: Any) -> None:
        if str(path).endswith(".journal"):
            steps.append("remove journal")
        unlink(path, **options)

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(os, "replace", recorded_replace)
    monkeypatch.setattr(os, "unlink", recorded_unlink)
    with replace_files([tmp_path / name for name in names]) as staging:
        for path in staging:
            path.write_text("new")
    journal = ["sync staging folder", "sync journal", "write journal", "sync folder"]
    assert steps == [
        *["sync file"] * len(names),
        *(journal if len(names) > 1 else []),
        *(f"put {name} in place" for name in names),
        "sync folder",
        *(["remove journal"] if len(names) > 1 else []),
    ]
