"""Any small table of awkward values, in every engine that is quick to fill: groups, people and recoding by the book."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privacy_plugin.errors import SourceError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.sources import open_source
from tests.oracles.frequencies import count_rows, count_units, meaning
from tests.sources.awkward import LACKING, VALUES
from tests.sources.loading import LOADERS, QUICK_ENGINES, Table, as_csv_reads

KEPT = ("first", "second")
MISSING = meaning(None)


@st.composite
def tables(draw: st.DrawFn, lacking: frozenset[str]) -> Table:
    """Three columns of any kinds with few values each, so that rows repeat."""
    kinds = {name: draw(st.sampled_from(sorted(set(VALUES) - lacking))) for name in (*KEPT, "person")}
    rows = draw(st.integers(1, 8))
    values = {}
    for name, kind in kinds.items():
        pool = draw(st.lists(st.sampled_from(VALUES[kind]), min_size=1, max_size=3))
        values[name] = draw(st.lists(st.sampled_from(pool), min_size=rows, max_size=rows))
    return Table(kinds=kinds, values=values)


def counted(table: FrequencyTable) -> Counter[Any]:
    return Counter({tuple(map(meaning, table.values(row))): int(table.counts[row]) for row in range(table.distinct)})


@pytest.mark.parametrize("engine", [name for name in QUICK_ENGINES if name != "duckdb"])
@settings(deadline=None, max_examples=15, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_table(engine: str, tmp_path: Path, data: st.DataObject) -> None:
    table = data.draw(tables(frozenset(LACKING.get(engine, ()))))
    source = open_source(LOADERS[engine](table, tmp_path))
    expected = as_csv_reads(table) if engine == "csv" else table
    rows = [row[:2] for row in expected.rows]
    found = source.frequencies(KEPT)
    assert counted(found) == count_rows(rows)

    people = expected.values["person"]
    if any(meaning(person) == MISSING for person in people):
        with pytest.raises(SourceError, match="is missing in"):
            source.frequencies(KEPT, unit="person")
    else:
        assert counted(source.frequencies(KEPT, unit="person")) == Counter(count_units(rows, people))

    mapping = {value: data.draw(st.sampled_from(["x", "y", "", "*", None])) for value in found.dictionaries[0]}
    target = {"sqlite": "recoded", "csv": str(tmp_path / "r.csv"), "parquet": str(tmp_path / "r.parquet")}.get(engine)
    recoded = open_source(source.recode(Recoding(keep=KEPT, mappings={"first": mapping}), target=target))
    by_meaning = {meaning(value): mapping[value] for value in mapping}
    assert counted(recoded.frequencies(KEPT)) == count_rows((by_meaning[meaning(one)], other) for one, other in rows)
