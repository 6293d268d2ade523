"""Ctrl-C while DuckDB works."""

import os
import signal
import threading

import duckdb
import pytest

from privacy_plugin.sources.duckdb_relation import DuckDBRelation


def test_an_interrupted_query_is_an_interrupt_and_no_error_of_the_data() -> None:
    # DuckDB hears the key between two tasks of some fifty input chunks. A scan has many short ones; a join that makes
    # millions of rows from each chunk has few, each of them minutes long.
    minutes = "SELECT range % 7 AS a FROM range(20_000_000_000)"
    relation = DuckDBRelation(duckdb.sql(minutes))
    key = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012  the key is pressed inside of the query
        key.start()
        relation.frequencies(["a"])
