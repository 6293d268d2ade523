"""Recoding in every engine, against rows recoded one by one."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from privacy_plugin.errors import ColumnError, HierarchyError, ParameterError, PrivacyPluginError
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.sources import Source, open_source, sql_table
from privacy_plugin.sources.sql.connections import open_connection
from tests.oracles.frequencies import count_rows, meaning
from tests.oracles.recodings import recode_rows
from tests.sources.awkward import VALUES, names_of
from tests.sources.databases import tables
from tests.sources.loading import (
    DATABASES,
    ENGINES,
    FRAMES,
    LOADERS,
    Table,
    as_csv_reads,
    target_of,
    text_table,
    written,
)
from tests.sources.people import AWKWARD_PEOPLE
from tests.sources.reading import counted

PAIRS: dict[str, list[tuple[Any, Any]]] = {
    "name": [("Ann", "A*"), ("ann", "a*"), ("", "empty"), (None, "?"), ("*", "*"), ("Bob", None), ("unused", "-")],
    "age": [(30, "30-39"), (41, "40-49"), (None, None), (2**53, "old"), (2**53 + 1, "very old")],
    "score": [(0.1, "low"), (0, "none"), (None, "?"), (1e300, "high")],
    "smoker": [(True, "yes"), (False, "no"), (None, "")],
    "born": [(date(1990, 1, 1), "1990s"), (None, None), (date(1, 1, 1), "past"), (date(9999, 12, 31), "future")],
}
NAMELESS = {column: dict(pairs) for column, pairs in PAIRS.items()}
KEEP = ("rest", "born", "smoker", "score", "age", "name")


def in_csv(pairs: dict[str, list[tuple[Any, Any]]]) -> dict[str, list[tuple[Any, Any]]]:
    """The same mappings for a file in which every value is a text."""
    return {column: [(written(old), new) for old, new in known] + zero(column) for column, known in pairs.items()}


def zero(column: str) -> list[tuple[Any, Any]]:
    return [("-0.0", "none"), ("0.0", "none")] if column == "score" else []


def recoded(engine: str, data: Any, recoding: Recoding, folder: Path) -> Source:
    target = target_of(engine, folder, "recoded")
    result = open_source(data).recode(recoding, target=target)
    assert target is not None or type(result) is type(data)
    return open_source(result)


@pytest.fixture(params=ENGINES)
def loaded(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Any, Table, dict[str, Any]]:
    engine = request.param
    data = LOADERS[engine](AWKWARD_PEOPLE, tmp_path)
    if engine == "csv":
        return engine, data, as_csv_reads(AWKWARD_PEOPLE), in_csv(PAIRS)
    return engine, data, AWKWARD_PEOPLE, PAIRS


def test_new_values(loaded: Any, tmp_path: Path) -> None:
    engine, data, table, pairs = loaded
    recoding = Recoding(keep=KEEP, mappings={column: dict(known) for column, known in pairs.items()})
    before = open_source(data).fingerprint()
    source = recoded(engine, data, recoding, tmp_path)
    assert source.columns == KEEP
    assert counted(source) == count_rows(recode_rows(table.names, table.rows, keep=KEEP, mappings=pairs))
    assert open_source(data).fingerprint() == before


def test_dropped_rows(loaded: Any, tmp_path: Path) -> None:
    engine, data, table, pairs = loaded
    chosen = {column: pairs[column] for column in ("name", "age")}
    hidden = [("A*", "30-39"), (None, "old"), ("nobody", "30-39")]
    recoding = Recoding(
        keep=("rest", "name", "age"),
        mappings={column: dict(known) for column, known in chosen.items()},
        suppressed_columns=("name", "age"),
        suppressed=frozenset(hidden),
    )
    expected = recode_rows(
        table.names,
        table.rows,
        keep=recoding.keep,
        mappings=chosen,
        suppressed_columns=("name", "age"),
        suppressed=hidden,
    )
    assert len(expected) == 4
    assert counted(recoded(engine, data, recoding, tmp_path)) == count_rows(expected)


def test_masked_rows(loaded: Any, tmp_path: Path) -> None:
    """A masked column becomes text, also without a mapping; others keep their type."""
    engine, data, table, pairs = loaded
    one = "1" if engine == "csv" else 1
    hidden = [("A*", one), ("?", "4" if engine == "csv" else 4), (None, None)]
    recoding = Recoding(
        keep=("smoker", "rest", "name"),
        mappings={"name": dict(pairs["name"])},
        suppressed_columns=("name", "rest"),
        suppressed=frozenset(hidden),
        suppression="mask",
    )
    rows = recode_rows(
        table.names,
        table.rows,
        keep=recoding.keep,
        mappings={"name": pairs["name"]},
        suppressed_columns=("name", "rest"),
        suppressed=hidden,
        mask=True,
    )
    expected = [(smoker, rest if rest is None else str(rest), name) for smoker, rest, name in rows]
    assert sum(row[1] == "*" for row in expected) == 4
    assert counted(recoded(engine, data, recoding, tmp_path)) == count_rows(expected)


def test_combinations_of_values(loaded: Any, tmp_path: Path) -> None:
    """What a value becomes may depend on other columns, kept or not; what is missing may become a text, and back."""
    engine, data, table, _ = loaded
    pairs = []
    for number, row in enumerate({tuple(map(meaning, r[:3])): r[:3] for r in table.rows}.values()):
        pairs.append((tuple(row), (f"n{number}", None if number == 2 else f"a{number % 2}", "always")))
    pairs.append((("nobody", pairs[0][0][1], None), ("-", "-", "-")))
    recoding = Recoding(
        keep=("rest", "age", "name"), mappings={}, combined_columns=("name", "age", "score"), combined=tuple(pairs)
    )
    new = {tuple(map(meaning, old)): after for old, after in pairs}
    expected = [(row[5], *reversed(new[tuple(map(meaning, row[:3]))][:2])) for row in table.rows]
    source = recoded(engine, data, recoding, tmp_path)
    assert source.columns == ("rest", "age", "name")
    assert counted(source) == count_rows(expected)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_combination_without_new_values_stops_everything(engine: str, tmp_path: Path) -> None:
    data = LOADERS[engine](text_table(a=["x", "y"], b=["1", "2"]), tmp_path)
    recoding = Recoding(keep=("a", "b"), mappings={}, combined_columns=("a", "b"), combined=((("x", "1"), ("X", "I")),))
    with pytest.raises(PrivacyPluginError):
        recoded(engine, data, recoding, tmp_path).frequencies(["a"])
    with pytest.raises(ParameterError, match="not both"):
        Recoding(keep=("a", "b"), mappings={"a": {}}, combined_columns=("a", "b"))


def test_values_without_translation(loaded: Any, tmp_path: Path) -> None:
    engine, data, _, pairs = loaded
    known = [(old, new) for old, new in pairs["name"] if old not in ("Ann", None)]
    recoding = Recoding(keep=("name", "rest"), mappings={"name": dict(known)})
    with pytest.raises(HierarchyError, match="'name' does not cover 2 of its 6 values") as caught:
        recoded(engine, data, recoding, tmp_path)
    assert "Ann" not in str(caught.value)
    if engine in ("csv", "parquet"):
        assert not (tmp_path / f"recoded.{engine}").exists()


def test_only_values_that_occur_need_a_translation(loaded: Any, tmp_path: Path) -> None:
    engine, data, _, pairs = loaded
    recoding = Recoding(keep=("rest",), mappings={})
    assert recoded(engine, data, recoding, tmp_path).columns == ("rest",)
    unknown = Recoding(keep=("rest", "nmae"), mappings={"nmae": dict(pairs["name"])})
    with pytest.raises(ColumnError, match="did you mean 'name'"):
        recoded(engine, data, unknown, tmp_path)


@pytest.mark.parametrize("engine", ENGINES)
def test_awkward_names_and_texts(engine: str, tmp_path: Path) -> None:
    names = names_of(engine)
    texts = VALUES["text"]
    table = text_table(**dict.fromkeys(names, texts))
    pairs = {name: [(text, None if text is None else f"new {text}") for text in texts] for name in names[::3]}
    hidden = [(f"new {texts[1]}", texts[1]), (None, None)]
    recoding = Recoding(
        keep=tuple(names),
        mappings={name: dict(known) for name, known in pairs.items()},
        suppressed_columns=(names[0], names[1]),
        suppressed=frozenset(hidden),
    )
    expected = recode_rows(
        names, table.rows, keep=names, mappings=pairs, suppressed_columns=names[:2], suppressed=hidden
    )
    assert counted(recoded(engine, LOADERS[engine](table, tmp_path), recoding, tmp_path)) == count_rows(expected)


@pytest.mark.parametrize("engine", ENGINES)
def test_no_rows(engine: str, tmp_path: Path) -> None:
    recoding = Recoding(keep=("a",), mappings={"a": {}}, suppressed_columns=("a",), suppressed=frozenset({("x",)}))
    source = recoded(engine, LOADERS[engine](text_table(a=[], b=[]), tmp_path), recoding, tmp_path)
    assert (source.columns, source.row_count()) == (("a",), 0)


@pytest.mark.parametrize("engine", FRAMES)
def test_frames_take_no_target(engine: str, tmp_path: Path) -> None:
    source = open_source(LOADERS[engine](text_table(a=["x"]), tmp_path))
    with pytest.raises(ParameterError, match="remove the target"):
        source.recode(Recoding(keep=("a",), mappings={}), target="elsewhere")


@pytest.mark.parametrize("engine", DATABASES)
def test_a_table_needs_another_name(engine: str, tmp_path: Path) -> None:
    source = LOADERS[engine](text_table(a=["x"]), tmp_path)
    recoding = Recoding(keep=("a",), mappings={})
    with pytest.raises(ParameterError, match="pass its name"):
        source.recode(recoding)
    name = source._origin.parts[-1]
    schema = {"postgresql": "public", "mariadb": source.bind.url.database}.get(engine, "main")
    anyhow = [name.upper()] if engine in ("sqlite", "duckdb") else []
    for same in [name, f'"{name}"', f"{schema}.{name}", *anyhow]:
        with pytest.raises(ParameterError, match="is the source itself"):
            source.recode(recoding, target=same)
    assert source.row_count() == 1
    with pytest.raises(ParameterError, match="not a table name"):
        source.recode(recoding, target="")


@pytest.mark.parametrize("engine", DATABASES)
def test_types_of_untouched_columns_stay(engine: str, tmp_path: Path) -> None:
    source = LOADERS[engine](AWKWARD_PEOPLE, tmp_path)
    result = source.recode(Recoding(keep=KEEP, mappings={"name": NAMELESS["name"]}), target="recoded")
    with open_connection(source.bind, "test") as connection:
        before = {column.name: column.type for column in source._describe(connection)}
    with open_connection(result.bind, "test") as connection:
        after = {column.name: column.type for column in result._describe(connection)}
    assert after == {name: before[name] for name in KEEP}
    assert counted(result) == count_rows(
        recode_rows(AWKWARD_PEOPLE.names, AWKWARD_PEOPLE.rows, keep=KEEP, mappings={"name": PAIRS["name"]})
    )


@pytest.mark.parametrize("engine", DATABASES)
def test_a_failure_leaves_the_old_table(engine: str, tmp_path: Path) -> None:
    source = LOADERS[engine](AWKWARD_PEOPLE, tmp_path)
    present = tables(source) | {"kept"}
    good = source.recode(Recoding(keep=("rest",), mappings={}), target="kept")
    before = good.fingerprint()
    with pytest.raises(HierarchyError):
        source.recode(Recoding(keep=("name",), mappings={"name": {"Ann": "x"}}), target="kept")
    assert sql_table(source._bind, "kept").fingerprint() == before
    assert tables(source) == present
    replaced = source.recode(Recoding(keep=("name",), mappings={}), target="kept")
    assert replaced.columns == ("name",)
