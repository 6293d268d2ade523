"""A file is written, synchronized, renamed, and its folder synchronized, in this order."""

import os
from pathlib import Path

import pytest

from privacy_plugin.atomic_write import write_atomically


@pytest.mark.parametrize("private", [False, True])
def test_the_content_is_on_disk_before_the_name_and_the_name_before_the_return(
    private: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, steps = tmp_path / "certificate.json", []
    fsync, replace = os.fsync, os.replace

    def recorded_fsync(descriptor: int) -> None:
        synchronized = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        steps.append("folder" if synchronized == tmp_path else f"file of {synchronized.stat().st_size} bytes")
        fsync(descriptor)

    def recorded_replace(source: Path, destination: Path) -> None:
        steps.append("rename")
        replace(source, destination)

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(os, "replace", recorded_replace)
    write_atomically(target, "whole", private=private)
    assert steps == ["file of 5 bytes", "rename", "folder"]
    assert target.read_text() == "whole"
    assert [path.name for path in tmp_path.iterdir()] == ["certificate.json"]


def test_a_disk_that_refuses_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "plan.json"
    target.write_text("old")

    def refuse(_: int) -> None:
        raise OSError("no space")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="no space"):
        write_atomically(target, "new")
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]
