"""Replace files by staged ones, all or none, also if the process is killed in between.

Staging files are in a private folder (mode 0700) next to the targets. When all are verified and on the disk, a journal
with the names of the targets is written, and the release is decided: the files are renamed one after the other, and the
journal is removed. A journal without its process means that the release was interrupted between two renames: some files
are new and some old. Until it is finished every one of them is refused to readers, and the next run that writes one of
them finishes it first. It is finished and not undone, because the new files have been published in part.
"""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path

from privacy_plugin.atomic_write import sync_folder, write_atomically
from privacy_plugin.errors import ParameterError, SourceError, describe_error
from privacy_plugin.private_folder import (
    PREFIX,
    PrivateFolder,
    lock_folder,
    remove_abandoned,
    remove_if_abandoned,
)
from privacy_plugin.sources.sql.file_formats import redact_file_errors

_JOURNAL = ".journal"
_LARGEST = 1 << 20


@contextmanager
def replace_files(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield a staging file for every path, and replace the paths by them when the block succeeds.

    Several targets must be in one folder. What an interrupted run for the same targets left is finished or removed
    first.
    """
    for one, other in combinations(paths, 2):
        if one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other)):
            raise ParameterError(f"the targets {str(one)!r} and {str(other)!r} are one file; name two")
        if one.parent.resolve() != other.parent.resolve():
            raise ParameterError(
                f"the targets {str(one)!r} and {str(other)!r} are in two folders; files that are released together "
                "must be in one, so that an interrupted release can be finished"
            )
    parent = paths[0].parent
    finish_releases(paths)
    remove_abandoned(parent, paths)
    with open_staging_folder(parent, paths[0]) as folder:
        staging = [folder / f"{number}{path.suffix}" for number, path in enumerate(paths)]
        yield staging
        for path in staging:
            with redact_file_errors(path, "writing"), open(path, "rb") as file:
                os.fsync(file.fileno())
        _replace_all(folder, staging, paths)


@contextmanager
def open_staging_folder(parent: Path, target: Path) -> Iterator[Path]:
    """Yield a private folder for what will replace a target in the same folder."""
    try:
        folder = PrivateFolder(parent, target)
    except OSError as problem:
        raise SourceError(f"cannot write into the folder {str(parent)!r}: {type(problem).__name__}") from None
    try:
        yield folder.path
    finally:
        folder.close()


def require_complete(path: Path) -> None:
    """Raise if a file belongs to a release of several files of which some may be new and some old."""
    for journal in find_journals(path.parent):
        names = _read_journal(journal)
        if path.name in names:
            raise SourceError(
                f"the release of {', '.join(map(repr, names))} is not complete: it is being written now, or was "
                "interrupted, and some files may be older than others. Run it again, or finish it: privacy-plugin "
                f"clean {str(path.parent)!r} --remove"
            )


def find_journals(folder: Path) -> list[Path]:
    """Return the journals of releases in a folder that are not complete."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries]
    except OSError:
        return []
    return [folder / name for name in sorted(names) if name.startswith(PREFIX) and name.endswith(_JOURNAL)]


def finish_releases(paths: Sequence[Path]) -> list[str]:
    """Finish the interrupted releases that any of these files belongs to; return the names of the files."""
    finished: list[str] = []
    for folder in {path.parent for path in paths}:
        wanted = {path.name for path in paths if path.parent == folder}
        for journal in find_journals(folder):
            if wanted & set(_read_journal(journal)):
                finished += finish_release(journal)
    return finished


def finish_release(journal: Path) -> tuple[str, ...]:
    """Put the remaining files of an interrupted release in place; raise if it is still being written or cannot be."""
    names, folder = _read_journal(journal), journal.with_suffix("")
    advice = f"else delete {str(journal)!r} and release all of {', '.join(map(repr, names))} again"
    lock = lock_folder(folder)
    if lock is None:
        raise SourceError(
            f"the release of {', '.join(map(repr, names))} is not complete: another process or user is writing it, or "
            f"its staging folder is gone. Try again after that process has ended; {advice}"
        )
    try:
        for number, name in enumerate(names):
            target = journal.parent / name
            staged = folder / f"{number}{target.suffix}"
            if staged.exists():  # else it was put in place already
                os.replace(staged, target)
        sync_folder(journal.parent)
        journal.unlink()
    except OSError as problem:
        raise SourceError(f"the interrupted release cannot be finished: {describe_error(problem)}; {advice}") from None
    finally:
        if lock >= 0:
            os.close(lock)
    remove_if_abandoned(folder)
    return names


def _replace_all(folder: Path, staging: Sequence[Path], paths: Sequence[Path]) -> None:
    """Rename every staging file to its target; if a later one fails, put the old files back."""
    parent = paths[0].parent
    if len(paths) == 1:
        with redact_file_errors(paths[0], "replacing"):
            os.replace(staging[0], paths[0])
        sync_folder(parent)
        return
    journal = folder.with_name(f"{folder.name}{_JOURNAL}")
    backups = [_back_up(path, folder / f"{number}.old") for number, path in enumerate(paths[:-1])]
    sync_folder(folder)
    try:
        write_atomically(journal, json.dumps([path.name for path in paths]))  # from here on, the release is decided
    except OSError as problem:
        raise SourceError(f"cannot write into the folder {str(parent)!r}: {describe_error(problem)}") from None
    try:
        for new, path in zip(staging, paths, strict=True):
            with redact_file_errors(path, "replacing"):
                os.replace(new, path)
    finally:
        if staging[-1].exists():  # one was not put in place, nor was the last
            for new, path, backup in reversed(list(zip(staging, paths, backups, strict=False))):
                if not new.exists():
                    _restore(new, path, backup)
        sync_folder(parent)
        journal.unlink()


def _restore(staged: Path, path: Path, backup: Path | None) -> None:
    """Put an old file back; at every moment the journal can still be followed to the end."""
    if backup is None:
        os.replace(path, staged)
        return
    _link_or_copy(path, staged)
    os.replace(backup, path)


def _back_up(path: Path, backup: Path) -> Path | None:
    if not path.exists():
        return None
    with redact_file_errors(path, "replacing"):
        _link_or_copy(path, backup)
    return backup


def _link_or_copy(path: Path, other: Path) -> None:
    """Give a file a second name, or copy it if the file system has no hard links."""
    try:
        os.link(path, other)
    except OSError:
        shutil.copy2(path, other)


def _read_journal(path: Path) -> tuple[str, ...]:
    """Return the names of the files of a release; raise if the journal names anything else."""
    try:
        with open(path, encoding="utf-8") as file:
            names = json.loads(file.read(_LARGEST))
    except FileNotFoundError:  # completed meanwhile
        return ()
    except (OSError, ValueError, RecursionError) as problem:
        raise SourceError(f"cannot read the journal {str(path)!r}: {describe_error(problem)}") from None
    plain = isinstance(names, list) and all(
        isinstance(name, str) and name == Path(name).name and name not in ("", "..") for name in names
    )
    if not plain or not names:
        raise SourceError(f"the journal {str(path)!r} is malformed; delete it and release its files again")
    return tuple(names)
