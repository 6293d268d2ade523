"""Ctrl-C while DuckDB works."""

import os
import signal
import threading

import duckdb
import pytest

from privacy_plugin.sources.duckdb_relation import DuckDBRelation


def test_an_interrupted_query_is_an_interrupt_and_no_error_of_the_data() -> None:
    hours = "SELECT a.range * b.range AS a FROM range(10_000_000) a, range(10_000_000) b"
    # Were the key not heard, the groups would take all memory of the machine.
    limits = {"memory_limit": "2GB", "max_temp_directory_size": "0KB"}
    relation = DuckDBRelation(duckdb.connect(config=limits).sql(hours))
    keys = [threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)) for seconds in (0.5, 5)]
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012  the key is pressed inside of the query
        for key in keys:
            key.start()
        relation.frequencies(["a"])
    keys[-1].cancel()
