"""Rows that were drawn in this process arrive in every engine as they are, or nothing is written."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from privacy_plugin.errors import CertificateError, ParameterError, SourceError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.sources import Source, open_source
from privacy_plugin.sources.drawn_rows import check_arrival, convert_to_text
from privacy_plugin.sources.fingerprint import content_fingerprint
from tests.sources.loading import ENGINES, LOADERS, target_of, text_table

COLUMNS = ["age group", "Größe", "score", "smokes", "born", "seen", "amount", "none"]
DRAWN = FrequencyTable.from_rows(
    COLUMNS,
    [
        ("[30, 40[", 2**53 + 1, 0.1, True, date(1990, 2, 28), datetime(2024, 1, 2, 3, 4, 5, 6), 1e300, None),
        ("[30, 40[", 2**53 + 1, 0.1, True, date(1990, 2, 28), datetime(2024, 1, 2, 3, 4, 5, 6), 1e300, None),
        ("*", -3, 7, False, None, datetime(2024, 1, 2), 5e-324, None),
        ('O\'Hara; "x", ü\n', None, None, None, date(1, 1, 1), None, None, None),
    ],
)
SOURCE = text_table(other=["x", "y"])


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_arrive_as_they_were_drawn(engine: str, tmp_path: Path) -> None:
    source = open_source(LOADERS[engine](SOURCE, tmp_path))
    held = convert_to_text(DRAWN) if engine == "csv" else DRAWN
    seen: list[Any] = []
    made = source.write_rows(DRAWN, target=target_of(engine, tmp_path), verify=lambda copy: seen.append(copy.columns))
    assert seen == [tuple(COLUMNS)]
    written = open_source(made)
    assert written.columns == tuple(COLUMNS)
    assert written.row_count() == 4
    assert content_fingerprint(written) == content_fingerprint(held)
    assert source.columns == ("other",)


@pytest.mark.spark
@pytest.mark.parametrize("zone", ["Europe/Zurich", "America/St_Johns"])
def test_moments_arrive_in_a_session_of_any_zone(spark: Any, zone: str) -> None:
    """Half past two of this day does not exist in Zurich."""
    moments = [datetime(2024, 3, 31, 2, 30), datetime(1, 1, 1, 1), datetime(9999, 12, 31, 23, 59)]
    drawn = FrequencyTable.from_rows(["seen"], [(moment,) for moment in moments])
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        made = open_source(spark.range(1)).write_rows(drawn, target=None, verify=lambda copy: None)
        assert open_source(made).frequencies(["seen"]).dictionaries == drawn.dictionaries
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_refusal_leaves_the_old_table(engine: str, tmp_path: Path) -> None:
    source = open_source(LOADERS[engine](SOURCE, tmp_path))
    target = target_of(engine, tmp_path)
    old = source.publish(target, columns=["other"], verify=lambda copy: None) if target is not None else None
    files = sorted(tmp_path.iterdir())

    def refuse(copy: Source) -> None:
        raise CertificateError("not recorded")

    with pytest.raises(CertificateError, match="not recorded"):
        source.write_rows(DRAWN, target=target, verify=refuse)
    if old is not None:
        assert open_source(old).columns == ("other",)
        assert sorted(tmp_path.iterdir()) == files


@pytest.mark.parametrize("engine", ["pandas", "sqlite"])
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, "1"], "mixes values"),
        ([b"1"], "mixes values"),
        ([2**70 + 1], "cannot hold"),
        ([10**400], "cannot hold"),
        ([0.5, 2**53 + 1], "cannot hold"),
        (["\ud800"], "cannot hold"),
    ],
)
def test_values_without_a_column_type_are_refused(engine: str, values: list[Any], words: str, tmp_path: Path) -> None:
    source = open_source(LOADERS[engine](SOURCE, tmp_path))
    rows = FrequencyTable.from_rows(["x"], [(value,) for value in values])
    with pytest.raises(SourceError, match=words):
        source.write_rows(rows, target=target_of(engine, tmp_path), verify=id)


def test_a_copy_with_other_rows_is_refused() -> None:
    check = check_arrival(FrequencyTable.from_rows(["x"], [(1,), (2,)]), id)
    check(open_source(pd.DataFrame({"x": [2, 1]})))
    for other in ([1, 2, 2], [1, 3], ["1", "2"]):
        with pytest.raises(SourceError, match="does not store the drawn values"):
            check(open_source(pd.DataFrame({"x": other})))


def test_targets_are_named_where_there_are_any(tmp_path: Path) -> None:
    for engine in ("pandas", "polars", "polars_lazy", "arrow", "duckdb_relation"):
        with pytest.raises(ParameterError):
            open_source(LOADERS[engine](SOURCE, tmp_path)).write_rows(DRAWN, target="t", verify=id)
    for engine in ("sqlite", "csv"):
        with pytest.raises(ParameterError):
            open_source(LOADERS[engine](SOURCE, tmp_path)).write_rows(DRAWN, target=None, verify=id)
    with pytest.raises(SourceError, match="no engine"):
        open_source(DRAWN).write_rows(DRAWN, target=None, verify=id)
