"""Before budget is reserved, a rehearsal for files leaves no value of the data in the folder of the release."""

import signal
import stat
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.errors import SourceError
from privacy_plugin.sources import open_source
from privacy_plugin.sources.sql import files
from privacy_plugin.sources.without_columns import WithoutColumns
from tests.processes import said, started
from tests.randomized_policies import EPSILON_SAFE, RESPONSE, SYNTHESIZE, open_ledger, people, policy_dict

METHODS = [EPSILON_SAFE, SYNTHESIZE, RESPONSE]
SUFFIXES = [".csv", ".tsv", ".parquet"]


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """Return a file whose zip codes are easy to find, in a folder of its own."""
    place = tmp_path / "raw" / "people.csv"
    place.parent.mkdir()
    rows = people()
    pd.DataFrame({**rows, "zip": [f"q{value[-1]}z" for value in rows["zip"]]}).to_csv(place, index=False)
    return place


@pytest.fixture
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for temporary files."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    return place


def values_in(folder: Path) -> set[str]:
    """Return the raw values in the files of a folder, whatever they are called."""
    found: set[str] = set()
    for path in (path for path in folder.rglob("*") if path.is_file()):
        source = open_source(path)
        for name in source.columns:
            found |= {str(value) for value in source.frequencies([name]).dictionary(name)}
    return found & {"f", "m", "q0z", "q1z", "q2z"}


@pytest.mark.parametrize("hidden", [False, True], ids=["file", "file without identifiers"])
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method["method"])
def test_no_value_is_in_the_folder_before_budget_is_reserved(
    method: dict[str, Any],
    suffix: str,
    hidden: bool,
    raw: Path,
    private: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ledger, write = open_ledger(), files._write_file
    output, staging = tmp_path / "output", tmp_path / "staging"
    output.mkdir()
    staging.mkdir()
    in_outputs: set[str] = set()
    rehearsed: set[str] = set()
    modes: set[int] = set()
    probed: set[Path] = set()

    def watch(relation: Any, path: Path) -> None:
        write(relation, path)
        if not ledger.entries():
            for folder in (output, staging):
                in_outputs.update(values_in(folder))
            rehearsed.update(values_in(private))
            if path.is_relative_to(private):
                modes.add(stat.S_IMODE(path.parent.stat().st_mode))
            else:
                probed.add(path.parent.parent)

    monkeypatch.setattr(files, "_write_file", watch)
    target, final = (str(folder / f"made{suffix}") for folder in (staging, output))
    source = WithoutColumns(open_source(raw), ["name"]) if hidden else open_source(raw)
    policy = pp.Policy.from_dict(policy_dict(anonymize=method))
    anonymize(source, policy=policy, target=target, final=final, ledger=ledger)
    assert in_outputs == set()
    assert rehearsed == {"f", "m", "q0z", "q1z", "q2z"}
    assert modes == {0o700}
    assert probed == {output, staging}
    assert list(private.iterdir()) == []
    assert [path.name for path in output.iterdir()] == []
    assert [path.name for path in staging.iterdir()] == [f"made{suffix}"]


STOP = """
    import sys, time
    from pathlib import Path
    import privacy_plugin as pp
    from privacy_plugin.anonymizers.anonymize import anonymize
    from privacy_plugin.ledger import BudgetLedger
    from privacy_plugin.sources.sql import files
    from tests.randomized_policies import EPSILON_SAFE, policy_dict

    raw, target, address, place = sys.argv[1:]
    write = files._write_file

    def wait(relation, path):
        write(relation, path)
        if path.is_relative_to(target) is (place == "output"):
            print(place, flush=True)
            time.sleep(600)

    files._write_file = wait
    policy = pp.Policy.from_dict(policy_dict(anonymize=EPSILON_SAFE))
    anonymize(Path(raw), policy=policy, target=f"{target}/made.csv", ledger=BudgetLedger(address))
"""


@pytest.mark.parametrize("place", ["output", "private"])
def test_a_killed_rehearsal_leaves_no_value_in_the_folder(
    place: str, raw: Path, private: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(private))
    output, address = tmp_path / "output", f"sqlite:///{tmp_path / 'ledger.db'}"
    output.mkdir()
    ledger = open_ledger(address)
    with started(STOP, str(raw), str(output), address, place) as process:
        said(process, place)
        process.send_signal(signal.SIGKILL)
    assert values_in(output) == set()
    assert len(list(output.iterdir())) == (place == "output")  # a folder with the file without rows
    assert ledger.entries() == ()
    left = list(private.glob(".privacy_plugin_*"))
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in left] == [0o700] * (place == "private")
    ledger.close()


def test_without_a_folder_for_temporary_files_nothing_is_spent(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, ledger = open_source(raw), open_ledger()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(SourceError, match="set TMPDIR"):
        anonymize(source, policy=pp.Policy.from_dict(policy_dict()), target=str(tmp_path / "made.csv"), ledger=ledger)
    assert ledger.entries() == ()
    assert [path.name for path in tmp_path.iterdir()] == ["raw"]
