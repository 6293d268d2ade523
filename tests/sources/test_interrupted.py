"""Ctrl-C while DuckDB works."""

import os
import signal
import threading

import duckdb
import pytest

from privacy_plugin.sources.duckdb_relation import DuckDBRelation


def test_an_interrupted_query_is_an_interrupt_and_no_error_of_the_data() -> None:
    hours = "SELECT a.range * b.range AS a FROM range(10_000_000) a, range(10_000_000) b"
    relation = DuckDBRelation(duckdb.connect().sql(hours))
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012  the key is pressed inside of the query
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        relation.frequencies(["a"])
