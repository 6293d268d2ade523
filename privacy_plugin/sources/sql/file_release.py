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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path

from privacy_plugin.atomic_write import sync_folder, write_atomically
from privacy_plugin.errors import ParameterError, SourceError, describe_error
from privacy_plugin.locations import Location, ObjectPath, parse_location
from privacy_plugin.private_folder import (
    PREFIX,
    PrivateFolder,
    lock_folder,
    remove_abandoned,
    remove_if_abandoned,
)
from privacy_plugin.sources.error_redaction import ForeignErrors, redact_errors
from privacy_plugin.sources.sql.file_formats import file_suffix, redact_file_errors
from privacy_plugin.sources.sql.lake_tables import LakeTable, parse_lake_table

FilePlace = Location | LakeTable

_JOURNAL = ".journal"
_LARGEST = 1 << 20


@contextmanager
def replace_files(places: Sequence[FilePlace]) -> Iterator[list[Path]]:
    """Yield a staging file for every place, and replace the places by them when the block succeeds.

    Several files must be in one folder. What an interrupted run for the same targets left is finished or removed
    first. An object of a store and a Delta or Iceberg table are replaced by one request or commit; of several objects,
    an interruption leaves some new and some old: release them again.
    """
    paths = [place for place in places if isinstance(place, Path)]
    if not paths or len(paths) < len(places):
        with _replace_elsewhere(places) as staging:
            yield staging
        return
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
    with open_staging_folder(paths[0]) as folder:
        staging = [folder / f"{number}{file_suffix(path)}" for number, path in enumerate(paths)]
        yield staging
        for path in staging:
            with redact_file_errors(path, "writing"), open(path, "rb") as file:
                os.fsync(file.fileno())
        _replace_all(folder, staging, paths)


@contextmanager
def _replace_elsewhere(places: Sequence[FilePlace]) -> Iterator[list[Path]]:
    """Stage in a private folder of this machine, and upload or commit when the block succeeds."""
    puts: list[Callable[[Path], None]] = []
    for place in places:
        if isinstance(place, Path):
            raise ParameterError("files of this machine and of other places cannot be released together")
        puts.append(place.upload if isinstance(place, ObjectPath) else place.replace)
    if len(places) > 1 and (len(set(map(str, places))) < len(places) or any(isinstance(p, LakeTable) for p in places)):
        raise ParameterError("several tables are released together as files or objects with different names")
    with open_staging_folder(places[0]) as folder:
        staging = [folder / f"{number}{place_suffix(place)}" for number, place in enumerate(places)]
        yield staging
        for put, path, place in zip(puts, staging, places, strict=True):
            with redact_errors(f"writing {str(place)!r}", ForeignErrors(classes=(OSError,), describe=describe_error)):
                put(path)


def place_suffix(place: FilePlace) -> str:
    """Return the suffix of the file that holds the content of a place."""
    return ".parquet" if isinstance(place, LakeTable) else file_suffix(place)


@contextmanager
def open_staging_folder(target: FilePlace) -> Iterator[Path]:
    """Yield a private folder for what will replace a target: next to it, or for temporary files if it is elsewhere."""
    parent = target.parent if isinstance(target, Path) else None
    try:
        folder = PrivateFolder(parent, target if isinstance(target, Path) else Path(str(target)))
    except OSError as problem:
        where = "for temporary files" if parent is None else repr(str(parent))
        raise SourceError(f"cannot write into the folder {where}: {type(problem).__name__}") from None
    try:
        yield folder.path
    finally:
        folder.close()


def parse_place(place: object) -> FilePlace:
    """Return the place of a table of files: a path, an object or folder of a store, or a Delta or Iceberg table."""
    location = place if isinstance(place, LakeTable) else parse_lake_table(place)
    if location is not None:
        return location
    path = parse_location(place)
    return parse_lake_table(path) or path


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
            staged = folder / f"{number}{file_suffix(target)}"
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
