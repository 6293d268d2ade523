"""Values and names that engines are known to confuse."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

from tests.sources.loading import Table

NAN, INFINITY = float("nan"), float("inf")

INFINITE = (INFINITY, -INFINITY)  # which MariaDB lacks
# What the engines' types cannot hold: SQLite has no decimals.
LACKING = {"sqlite": {"decimal"}}

# fmt: off
VALUES: dict[str, list[Any]] = {
    "text": [
        "a", "A", "\u00e1", "a\u0301", "", " ", "a ", "*", "NULL", "None", "nan", "0", "1", "02138", "x,y", 'q"q',
        "l\nb", "w\r\nb", "\t", "\U0001f600", "\u00df", "SS", "'; DROP TABLE t; --", "%s", "\\", ":x", None,
    ],
    "integer": [0, 1, -1, 2**31, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), None],
    "float": [
        0.0, -0.0, 1.0, 0.1, 0.1 + 0.2, 0.3, 1e-300, 1e300, NAN, None, INFINITY, -INFINITY, 1.0000000000000002,
    ],
    "boolean": [True, False, None],
    "date": [date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31), date(1970, 1, 1), None],
    "moment": [
        datetime(2024, 2, 29), datetime(2024, 2, 29, 23, 59, 59, 999999), datetime(1969, 12, 31, 1, 2, 3, 1), None,
    ],
    "decimal": [
        Decimal("1.10"), Decimal("1"), Decimal("12345678901234567890.1234567891"),
        Decimal("12345678901234567890.1234567892"), Decimal("-0.0000000001"), None,
    ],
    "bytes": [b"", b"\x00\xff", b"abc", None],
}

NAMES = [
    'a"b', "select", "x; drop table t", "with space", "\u00fcn\u00efc\u00f6d\u00e9", "count", "*", "%", "%s", "%(x)s",
    "a:b", "n", "c0", "privacy_plugin_source", "^a$", "a.b", "`tick`", "[x]", "'q'", "{x}", "back\\slash", "len",
    "unit", "absent", "h", "?", "$1", "old", "number", "bucket", "rowid", "hidden", "new", "\U0001f600",
]
# fmt: on


def names_of(engine: str) -> list[str]:
    """The awkward names that an engine's columns can have: MariaDB's have no characters of four bytes."""
    return [name for name in NAMES if engine != "mariadb" or max(name) <= "\uffff"]


def awkward_table(engine: str) -> Table:
    """Every awkward value, each column repeated to one length, so that counts differ."""
    kinds = [kind for kind in VALUES if kind not in LACKING.get(engine, set())]
    rows = 97
    known = {kind: [value for value in VALUES[kind] if engine != "mariadb" or value not in INFINITE] for kind in kinds}
    values = {kind: [known[kind][i % len(known[kind])] for i in range(rows)] for kind in kinds}
    return Table(kinds={kind: kind for kind in kinds}, values=values)
