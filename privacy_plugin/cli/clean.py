"""`clean`: show and remove what killed runs left: staging folders and files, and releases that are not complete."""

import os
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from privacy_plugin.cli.options import Json
from privacy_plugin.cli.terminal import FAILED, PASSED, Terminal, command

Folders = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[FOLDER]...", help="Folders of releases, certificates and plans.", show_default=False),
]
Remove = Annotated[bool, typer.Option("--remove", help="Remove what is shown, and finish interrupted releases.")]

_IN_USE_SECONDS = 60  # such a file is written in one go


@command
def clean(folders: Folders = None, remove: Remove = False, as_json: Json = False) -> int:
    """Show what killed runs left in folders (default: the current one); with --remove, remove it.

    The folder for temporary files (TMPDIR) is always looked at too. What a running process uses stays. A release of
    several files that was interrupted is finished, because its files are published in part. Exit code 1 if something
    is left.

    For example:

    - `privacy-plugin clean releases certificates`
    - `privacy-plugin clean releases --remove`
    """
    from privacy_plugin.errors import ParameterError, PrivacyPluginError
    from privacy_plugin.private_folder import find_private_folders, is_abandoned, remove_if_abandoned
    from privacy_plugin.sources.sql.file_release import find_journals, finish_release

    terminal = Terminal(as_json=as_json)
    given = folders or [Path()]
    for folder in given:
        if not folder.is_dir():
            raise ParameterError(f"{str(folder)!r} is not a folder")
    found: list[dict[str, Any]] = []

    def report(kind: str, path: Path, state: str, note: str = "") -> None:
        found.append({"kind": kind, "path": str(path), "state": state})
        terminal.print_line(f"{state}: {kind} {path}{note}")

    for folder in dict.fromkeys([*given, Path(tempfile.gettempdir())]):
        for journal in find_journals(folder):
            state, note = "incomplete", ""
            if remove:
                try:
                    state, note = "finished", f" ({', '.join(finish_release(journal))})"
                except PrivacyPluginError as problem:
                    note = f"\n  {problem}"
            report("release", journal, state, note)
        for path in find_private_folders(folder):
            if not is_abandoned(path):
                state = "in use"
            else:
                state = "removed" if remove and remove_if_abandoned(path) else "left"
            report("staging folder", path, state)
        for path in _staging_files(folder):
            if remove:
                path.unlink(missing_ok=True)
            report("staging file", path, "removed" if remove else "left")
    if not found:
        terminal.print_line("nothing was left")
    remaining = [entry for entry in found if entry["state"] in ("left", "incomplete")]
    if remaining and not remove:
        terminal.print_note("nothing was changed; --remove removes what was left and finishes incomplete releases")
    terminal.print_json({"found": found})
    return FAILED if remaining else PASSED


def _staging_files(folder: Path) -> list[Path]:
    """Return the files of this user that were to replace a certificate, plan, report or key a while ago."""
    from privacy_plugin.atomic_write import is_staging_name

    def is_old(found: os.stat_result) -> bool:
        return (os.name != "posix" or found.st_uid == os.geteuid()) and found.st_mtime < time.time() - _IN_USE_SECONDS

    with os.scandir(folder) as entries:
        return sorted(
            Path(entry.path)
            for entry in entries
            if is_staging_name(entry.name)
            and entry.is_file(follow_symlinks=False)
            and is_old(entry.stat(follow_symlinks=False))
        )
