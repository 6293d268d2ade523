"""Results that an engine streams: every group is read."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from privacy_plugin.errors import SourceError
from privacy_plugin.sources import sql_table
from tests.sources.loading import DATABASES, LOADERS, text_table


@pytest.mark.parametrize("options", [{"stream_results": True}, {"yield_per": 2}])
@pytest.mark.parametrize("engine", DATABASES)
def test_streamed_results_show_every_group(engine: str, options: dict[str, Any], tmp_path: Path) -> None:
    """SQLAlchemy takes the first row of a streamed result off the driver's cursor."""
    table = LOADERS[engine](text_table(age=["1", "2", "3", "4", "5"]), tmp_path)
    name, streaming = table._origin.parts[-1], table._bind.execution_options(**options)
    source = sql_table(streaming, name)
    assert source.frequencies(["age"]).rows == 5
    with source.snapshot() as held:
        assert held.frequencies(["age"], unit="age").rows == 5
    published = source.publish(f"copy_of_{name}", columns=["age"], verify=lambda copy: None)
    with streaming.connect() as connection:
        joined = sql_table(connection, name).joined_groups(sql_table(connection, f"copy_of_{name}"), ["age"])
        assert joined is not None
        assert joined.table.rows == 5
        assert connection.get_execution_options()[next(iter(options))] == next(iter(options.values()))
    assert published.row_count() == 5


@pytest.mark.postgres
def test_a_group_that_a_listener_reads_is_missed(tmp_path: Path) -> None:
    table = LOADERS["postgresql"](text_table(age=["1", "2", "3"]), tmp_path)

    def peek(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        if "GROUP BY" in statement:
            cursor.fetchone()

    sa.event.listen(table._bind, "after_cursor_execute", peek)
    try:
        with pytest.raises(SourceError, match="returned 3 groups, but only 2"):
            table.frequencies(["age"])
    finally:
        sa.event.remove(table._bind, "after_cursor_execute", peek)
