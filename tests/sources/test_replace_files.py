"""Several files are replaced together or not at all."""

from pathlib import Path

import pytest

from privacy_plugin.errors import SourceError
from privacy_plugin.sources.sql.files import replace_files


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
    assert [path.read_text() for path in paths] == ["new", "new"]
    assert sorted(tmp_path.iterdir()) == paths
