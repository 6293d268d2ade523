"""A time-window partition has the rows of its days, for every format of the column."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from privacy_plugin.errors import ParameterError
from privacy_plugin.orchestration import WarehouseResource, build_privacy_checks
from privacy_plugin.orchestration.partitions import time_window
from privacy_plugin.policy.policy import Policy
from tests.engines import postgresql_database
from tests.orchestration.pipeline import policy_dict

DAILY = dg.DailyPartitionsDefinition("2023-12-01")
WEEKLY = dg.WeeklyPartitionsDefinition("2023-12-01")
MONTHLY = dg.MonthlyPartitionsDefinition("2023-12-01")
HOURLY = dg.HourlyPartitionsDefinition("2023-12-01 00:00", fmt="%Y-%m-%d %H:%M")
MOMENTS = (
    "2023-12-31 23:59:59",
    "2024-01-01 00:00:00",
    "2024-01-06 12:00:00",
    "2024-01-07 00:00:00",
    "2024-01-31 23:59:59",
    "2024-02-01 00:00:00",
)


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def warehouse(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[WarehouseResource]:
    url = f"{request.param}:///{tmp_path / 'house.db'}"
    if request.param == "postgresql":
        url = postgresql_database().url.render_as_string(hide_password=False)
    made = WarehouseResource(url=url)
    listed = ", ".join(f"(TIMESTAMP '{moment}')" for moment in MOMENTS)
    if request.param == "sqlite":
        listed = ", ".join(f"('{moment}')" for moment in MOMENTS)
    with made.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE moments (moment TIMESTAMP)")
        connection.exec_driver_sql(f"INSERT INTO moments VALUES {listed}")
        day = "substr(moment, 1, 10)" if request.param == "sqlite" else "CAST(moment AS DATE)"
        connection.exec_driver_sql(f"CREATE TABLE visits AS SELECT moment, {day} AS day FROM moments")
    yield made
    made.dispose()


@pytest.mark.parametrize("column", ["moment", "day"])
@pytest.mark.parametrize(
    ("partitions", "key", "rows"),
    [
        (DAILY, "2023-12-31", 1),
        (DAILY, "2024-01-01", 1),
        (WEEKLY, "2023-12-31", 3),
        (WEEKLY, "2024-01-07", 1),
        (MONTHLY, "2023-12-01", 1),
        (MONTHLY, "2024-01-01", 4),
        (MONTHLY, "2024-02-01", 1),
        (MONTHLY, "2024-03-01", 0),
    ],
)
def test_a_window_includes_its_begin_and_excludes_its_end(
    warehouse: WarehouseResource, partitions: Any, key: str, rows: int, column: str
) -> None:
    window = time_window(partitions, key)
    part = warehouse.table("visits", partition=key, partition_column=column, window=window)
    assert part.row_count() == rows


def test_every_row_is_in_one_window(warehouse: WarehouseResource) -> None:
    for partitions in (DAILY, WEEKLY, MONTHLY):  # hours are too many to ask for each
        keys = [key for key in partitions.get_partition_keys() if key < "2024-03"]
        parts = [
            warehouse.table(
                "visits", partition=key, partition_column="moment", window=time_window(partitions, key)
            ).row_count()
            for key in keys
        ]
        assert sum(parts) == len(MOMENTS)


@pytest.mark.parametrize(
    ("key", "moments", "days"), [("2024-01-31 23:00", 1, 0), ("2024-02-01 00:00", 1, 1), ("2024-02-01 01:00", 0, 0)]
)
def test_hourly_windows(warehouse: WarehouseResource, key: str, moments: int, days: int) -> None:
    """A date without a time counts as midnight."""
    for column, rows in (("moment", moments), ("day", days)):
        part = warehouse.table("visits", partition=key, partition_column=column, window=time_window(HOURLY, key))
        assert part.row_count() == rows


def test_hourly_windows_with_iso_timestamps(tmp_path: Path) -> None:
    """As text, T sorts after a blank: all hours of a day would fall into its last hour."""
    warehouse = WarehouseResource(url=f"sqlite:///{tmp_path / 'house.db'}")
    with warehouse.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE visits (moment TEXT)")
        moments = ("2024-01-31T08:15:00", "2024-01-31T13:00:00", "2024-01-31T23:30:00")
        connection.exec_driver_sql(f"INSERT INTO visits VALUES {', '.join(f'({moment!r})' for moment in moments)}")
    for hour in ("08", "13", "23"):
        key = f"2024-01-31 {hour}:00"
        window = time_window(HOURLY, key)
        assert warehouse.table("visits", partition=key, partition_column="moment", window=window).row_count() == 1
    warehouse.dispose()


@pytest.mark.parametrize("key", ["2024-10-27 02:00", "2024-10-27 02:00+0100"])
def test_ambiguous_hours_raise_an_error(key: str) -> None:
    local = dg.HourlyPartitionsDefinition("2024-10-01 00:00", fmt="%Y-%m-%d %H:%M", timezone="Europe/Berlin")
    with pytest.raises(ParameterError, match="clocks are set back"):
        time_window(local, key)


def test_a_column_may_contain_the_partition_key(tmp_path: Path) -> None:
    months = dg.MonthlyPartitionsDefinition("2024-01", fmt="%Y-%m")
    warehouse = WarehouseResource(url=f"sqlite:///{tmp_path / 'house.db'}")
    with warehouse.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE visits (month TEXT COLLATE NOCASE)")
        connection.exec_driver_sql(
            "INSERT INTO visits VALUES ('2024-01'), ('2024-02'), ('2024-02'), ('2024-10'), (NULL)"
        )
    window = time_window(months, "2024-02")
    part = warehouse.table("visits", partition="2024-02", partition_column="month", window=window)
    assert part.row_count() == 2
    warehouse.dispose()


@pytest.mark.parametrize(
    "partitions",
    [
        dg.DailyPartitionsDefinition("01-01-2024", fmt="%d-%m-%Y"),
        dg.DailyPartitionsDefinition("20240101", fmt="%Y%m%d"),
        dg.DailyPartitionsDefinition("2024/01/01", fmt="%Y/%m/%d"),
        dg.HourlyPartitionsDefinition("2024-01-01-00:00"),
    ],
    ids=lambda partitions: partitions.fmt,
)
def test_keys_that_do_not_sort_as_dates_raise_at_definition(partitions: Any) -> None:
    """As text, all days of 2024 sort after 20231231: that partition would have all their rows."""
    with pytest.raises(ParameterError, match="give partitions_def an fmt"):
        build_privacy_checks(
            asset="judged",
            policy=Policy.from_dict(policy_dict()),
            table="judged",
            partitions_def=partitions,
            partition_column="day",
        )


def test_windows_with_an_offset_raise_an_error() -> None:
    shifted = dg.DailyPartitionsDefinition("2024-01-01", hour_offset=6)
    with pytest.raises(ParameterError, match="does not begin at the time of its key"):
        time_window(shifted, "2024-01-02")
