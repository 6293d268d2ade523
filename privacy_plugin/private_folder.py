"""Folders for what is not judged yet: only their user can read them, and a killed run's are recognized and removed.

A run holds a lock on its folder (`flock`), which ends with the process however it ends. A folder without a lock was
left by a killed run. Its name has the key of the file it was made for, so that the next run for the same file removes
it. Where the system has no such locks nothing counts as abandoned, and people delete such folders themselves.
"""

import hashlib
import os
import secrets
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = ".privacy_plugin_"
_ATTEMPTS = 100


class PrivateFolder:
    """A folder of mode 0700, removed with its content when it is closed, collected, or found after a kill."""

    def __init__(self, parent: Path | None, target: Path) -> None:
        """Create it in `parent` (default: the folder for temporary files); remove what was left for this target."""
        parent = Path(tempfile.gettempdir()) if parent is None else parent
        remove_abandoned(parent, [target])
        for _ in range(_ATTEMPTS):
            path = parent / f"{PREFIX}{target_key(target)}_{secrets.token_hex(8)}"
            path.mkdir(mode=0o700)
            lock = lock_folder(path)
            if lock is not None and path.is_dir():  # else a run that removes abandoned folders was quicker
                break
        else:
            raise OSError("no private folder can be kept here")
        self.path = path
        self._remove = weakref.finalize(self, _remove, path, lock)

    def close(self) -> None:
        """Remove the folder."""
        self._remove()


@contextmanager
def open_private_folder(parent: Path | None, target: Path) -> Iterator[Path]:
    """Yield the path of a private folder and remove it at the end."""
    folder = PrivateFolder(parent, target)
    try:
        yield folder.path
    finally:
        folder.close()


def remove_abandoned(parent: Path, targets: Sequence[Path]) -> None:
    """Remove the folders that killed runs left for these targets."""
    keys = tuple(f"{PREFIX}{target_key(target)}_" for target in targets)
    for path in find_private_folders(parent):
        if path.name.startswith(keys):
            remove_if_abandoned(path)


def remove_if_abandoned(path: Path) -> bool:
    """Remove a private folder unless a process uses it; returns whether it was removed."""
    lock = lock_folder(path)
    if lock is None:
        return False
    _remove(path, lock)
    return not path.exists()


def is_abandoned(path: Path) -> bool:
    """Return whether no process uses a private folder."""
    lock = lock_folder(path)
    if lock is None:
        return False
    if lock >= 0:
        os.close(lock)
    return True


def find_private_folders(parent: Path) -> list[Path]:
    """Return the private folders of this user in a folder, those in use included."""
    try:
        with os.scandir(parent) as entries:
            return sorted(Path(entry.path) for entry in entries if entry.name.startswith(PREFIX) and _is_own(entry))
    except OSError:
        return []


def target_key(target: Path) -> str:
    """Return a short name for a file that tells nothing about it."""
    name = os.fsencode(target.absolute())
    return hashlib.sha256(name).hexdigest()[:16]


def lock_folder(path: Path) -> int | None:
    """Return the descriptor of a lock on a folder; None if a process holds it, or the folder cannot be opened."""
    try:
        import fcntl

        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except ImportError:  # Windows
        return _without_locks(path)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink:  # not removed meanwhile
            return descriptor
        found = None
    except BlockingIOError:
        found = None
    except OSError:  # a file system without locks
        found = _without_locks(path)
    os.close(descriptor)
    return found


def _without_locks(path: Path) -> int | None:
    """Return a number that stands for the lock of a folder that is being made; all others count as in use."""
    return None if any(path.iterdir()) else -1


def _is_own(entry: "os.DirEntry[str]") -> bool:
    """Return whether an entry is a folder that only this user can read."""
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    if not stat.S_ISDIR(found.st_mode):
        return False
    return os.name != "posix" or (found.st_uid == os.geteuid() and not found.st_mode & 0o077)


def _remove(path: Path, lock: int) -> None:
    shutil.rmtree(path, ignore_errors=True)
    if lock >= 0:
        with suppress(OSError):
            os.close(lock)
