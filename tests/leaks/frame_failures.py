"""Failures with frames: cells that raise, plans that cannot run, values without a type."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import privacy_plugin as pp
from tests.engines import spark_session
from tests.leaks.markers import AGE, COLUMNS, MARKED, NAME, ZIP, frame, people
from tests.leaks.scenes import POLICY, Scene, failure, policy, with_hierarchy

FRAMES = ("python", "dagster")
SPARK = (pytest.mark.spark,)


class Cell:
    """A value that complains, by quoting itself, about whatever is asked of it."""

    def __init__(self, raising: tuple[str, ...]) -> None:
        self.raising = raising

    def _asked(self, what: str) -> None:
        if what in self.raising:
            raise ValueError(f"{ZIP} has no {what}")

    def __hash__(self) -> int:
        self._asked("hash")
        return 1

    def __eq__(self, other: object) -> bool:
        self._asked("equal")
        return self is other

    def __str__(self) -> str:
        self._asked("text")
        return "cell"

    __repr__ = __str__

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"{ZIP} is not a list")


def complain(value: str) -> str:
    """Stand for code of the host's own that quotes what it cannot read."""
    if value == ZIP:
        raise ValueError(f"what is {value}?")
    return value


@failure(*FRAMES, "great expectations", message="k-anonymity is 1")
def pandas_values_outside_a_hierarchy(_: Path) -> Scene:
    return Scene(data=frame())


@failure(*FRAMES, "great expectations", message="ValueError")
def pandas_cells_that_raise(_: Path) -> Scene:
    def holding(*raising: str) -> pd.DataFrame:
        data = frame().astype({"zip": object})
        data.at[40, "zip"] = Cell(raising)
        return data

    kinds = (("hash",), ("equal",), ("text",), ("hash", "equal", "text"))
    calls = [lambda kind=kind: pp.k_anonymity(holding(*kind), quasi_identifiers=["age", "zip"]) for kind in kinds]
    calls += [
        lambda kind=kind: pp.generalize(
            holding(*kind),
            hierarchies=pp.Policy.from_dict(POLICY).hierarchies,
            requirements=[pp.require("k_anonymity", at_least=2)],
        )
        for kind in kinds
    ]
    return Scene(data=holding("hash", "equal", "text"), calls=tuple(calls))


@failure(*FRAMES, "great expectations", message="t-closeness")
def pandas_values_of_many_kinds(_: Path) -> Scene:
    data = frame().astype(object)
    data.loc[41] = [b"Zqvanessa", complex(AGE, 1), [ZIP], {"a": ZIP}]
    data.loc[42] = [pd.Period("1871"), pd.Interval(0, AGE), (ZIP, {ZIP}), pd.Timestamp("1871-03-17")]
    return Scene(data=data, policy=policy({"t_closeness": {"ground": "ordered", "at_most": 0.2}}))


@failure(*FRAMES, "great expectations", message="more than one column named")
def pandas_two_columns_of_one_name(_: Path) -> Scene:
    data = frame()
    data.columns = ["name", "age", "zip", "zip"]
    return Scene(data=data)


@failure("python", message="k-anonymity is 1")
def pandas_an_index_of_names(_: Path) -> Scene:
    return Scene(data=frame().set_index("name", drop=False).astype({"age": str}))


@failure(*FRAMES, "great expectations", message="does its first line name the columns?")
def pandas_a_first_line_that_is_a_person(_: Path) -> Scene:
    return Scene(data=pd.DataFrame(people(), columns=[str(value) for value in MARKED]))


@failure("python", message="is not a string")
def pandas_columns_named_by_numbers(_: Path) -> Scene:
    return Scene(data=pd.DataFrame(people()))


@failure(*FRAMES, message="InvalidOperationError")
def polars_a_lazy_plan_that_cannot_convert(_: Path) -> Scene:
    return Scene(data=pl.LazyFrame(frame()).with_columns(pl.col("zip").cast(pl.Int64)))


@failure(*FRAMES, message="ValueError")
def polars_a_lazy_plan_with_code_that_raises(_: Path) -> Scene:
    return Scene(data=pl.LazyFrame(frame()).with_columns(pl.col("zip").map_elements(complain, return_dtype=pl.String)))


@failure("python", message="ComputeError")
def polars_a_lazy_plan_over_a_broken_file(folder: Path) -> Scene:
    path = folder / "visits.csv"
    path.write_text("name,age,zip,disease\n" + f"a,30,80000001,b\n{NAME},{ZIP},{AGE},b\n", encoding="utf-8")
    return Scene(data=pl.scan_csv(path, schema_overrides={"age": pl.Int64}))


@failure("python", message="a value of type Cell cannot be converted to text")
def polars_objects(_: Path) -> Scene:
    rows = [(*row[:2], Cell(("hash", "equal", "text")), row[3]) for row in people()]
    return Scene(data=pl.DataFrame(rows, schema={**dict.fromkeys(COLUMNS), "zip": pl.Object}, orient="row"))


@failure(*FRAMES, message="that Python cannot represent")
def arrow_values_that_python_lacks(_: Path) -> Scene:
    table = pa.Table.from_pandas(frame(), preserve_index=False)
    far = pa.array([AGE * 10**9] * 41, pa.timestamp("s"))
    return Scene(data=table.set_column(1, "age", far), policy=with_hierarchy("age", {"dates": {"levels": ["year"]}}))


@failure("python", message="that Python cannot represent")
def arrow_text_that_is_no_utf_8(_: Path) -> Scene:
    table = pa.Table.from_pandas(frame(), preserve_index=False)
    raw = pa.array([f"8{i:07d}".encode() for i in range(40)] + [ZIP.encode() + b"\xff"], pa.binary())
    return Scene(data=table.set_column(2, "zip", raw.view(pa.string())))


@failure("python", message="ConversionException")
def duckdb_a_relation_that_cannot_convert(_: Path) -> Scene:
    visits = frame()
    relation = duckdb.connect().from_df(visits)
    return Scene(data=relation.project("name, age, CAST(zip AS INTEGER) AS zip, disease"))


@failure(*FRAMES, message="InvalidInputException")
def duckdb_a_relation_with_code_that_raises(_: Path) -> Scene:
    connection = duckdb.connect()
    connection.create_function("complain", complain, ["VARCHAR"], "VARCHAR")
    relation = connection.from_df(frame())
    return Scene(data=relation.project("name, age, complain(zip) AS zip, disease"))


@failure("python", message="values outside its declared domain")
def domains_that_lack_values(_: Path) -> Scene:
    common: dict[str, Any] = {"columns": ["zip", "disease"], "epsilon": 1}
    wrong: list[dict[str, Any]] = [
        {"domains": {"disease": ["a", "b", "c", "d"]}},
        {"domains": {"disease": [NAME, NAME]}},
        {"domains": {"disease": []}},
        {"domains": {"disease": ZIP}},
        {"domains": {"disease": [{ZIP: 1}]}},
        {"epsilon": ZIP},
    ]
    calls = [lambda more=more: pp.synthesize(frame(), **{**common, **more}) for more in wrong]
    calls += [
        lambda more=more: pp.randomized_response(frame(), **{**common, **more}) for more in wrong if "domains" in more
    ]
    calls += [
        lambda: pp.private_itemsets(frame(), **common, number=2, support=0.1, domains={"zip": [NAME]}),
        lambda: pp.epsilon_safe_lattice(
            frame(),
            hierarchies={"zip": pp.tree_hierarchy({"*": ["a", "b"]})},
            k=30,
            beta=0.5,
            epsilon=1,
            penalty=1,
        ),
    ]
    return Scene(data=frame(), calls=tuple(calls))


@failure("python", message="must lie between 0 and 1")
def weights_of_sensitive_values_beyond_one(_: Path) -> Scene:
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": "disease", "knowledge": 1}
    wrong: list[dict[Any, Any]] = [{NAME: 2}, {ZIP: -1, "otherwise": 1}, {"otherwise": 2}]
    calls = [lambda weights=weights: pp.maximum_disclosure(frame(), **asked, weights=weights) for weights in wrong]
    return Scene(data=frame(), calls=tuple(calls))


@failure("python", message="does not have")
def weights_and_knowledge_of_values_that_are_not_there(_: Path) -> Scene:
    attributes = {"attributes": ["age", "disease"]}
    wrong: list[dict[str, Any]] = [
        {"likelihood": {("disease", NAME): 1}, "danger": {}},
        {"likelihood": {("disease", NAME): ZIP}, "danger": {}},
        {"likelihood": {"age": {AGE: ZIP}}, "danger": {}},
        {"likelihood": {}, "danger": {("disease", NAME): -1}},
        {"likelihood": {}, "danger": {(NAME, ZIP, AGE): 1}},
        {"likelihood": {}, "danger": {"disease": 1}, "bins": {"age": [AGE, AGE]}},
        {"likelihood": {}, "danger": {"disease": 1}, "bins": {"disease": [1, 2]}},
        {"likelihood": {}, "danger": {"disease": 1}, "generalized": {"disease": {"tree": {"*": [NAME]}}}},
    ]
    calls = [lambda more=more: pp.privacy_score(frame(), **attributes, **more) for more in wrong]
    calls += [lambda more=more: pp.fill_holes(frame(), **attributes, **more) for more in wrong]
    calls += [
        lambda: pp.presence_confidence(
            frame(),
            quasi_identifiers=["zip"],
            marginals={"zip": {ZIP: NAME}},
            population_size=100,
            delta=(0, 0.5),
        ),
        lambda: pp.presence_confidence(
            frame(), quasi_identifiers=["zip"], marginals={"zip": {ZIP: -1}}, population_size=100, delta=(0, 0.5)
        ),
        lambda: pp.epsilon_dependence([[NAME, 1], [0, 1]]),
        lambda: pp.interval_hierarchy(start=ZIP, stop=10, widths=[5]),
        lambda: pp.interval_hierarchy(start=0, stop=10, widths=[NAME]),
        lambda: pp.tree_hierarchy({"*": {"a": [ZIP], "b": [ZIP]}}),
        lambda: pp.tree_hierarchy({"*": ZIP}),
        lambda: pp.tree_hierarchy({ZIP: {}, NAME: {}}),
        lambda: pp.frequency_table(frame().assign(zip=[{ZIP: i} for i in range(41)]), ["zip"]).project([1]),
    ]
    return Scene(data=frame(), calls=tuple(calls))


def spark_people() -> Any:
    """Return the people as a Spark frame, with Spark's own Java log off: the operator of Spark owns that log."""
    session = spark_session()
    session.sparkContext.setLogLevel("OFF")
    return session.createDataFrame(people(), COLUMNS)


@failure("python", message="failed in Spark", marks=SPARK)
def spark_text_that_is_no_number(_: Path) -> Scene:
    return Scene(data=spark_people().selectExpr("name", "age", "CAST(zip AS INT) AS zip", "disease"))


@failure("python", message="failed in Spark", marks=SPARK)
def spark_an_error_of_the_plan_itself(_: Path) -> Scene:
    term = f"if(zip = '{ZIP}', raise_error(zip), zip) AS zip"
    return Scene(data=spark_people().selectExpr("name", "age", term, "disease"))
