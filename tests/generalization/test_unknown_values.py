"""Values that no hierarchy covers: refused with column and rows, suppressed and counted, or written as `*`."""

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.errors import HierarchyError, InfeasibleError, ParameterError, PrivacyPluginError
from privacy_plugin.frequency.hierarchy import TableHierarchy
from privacy_plugin.policy.policy import Policy
from privacy_plugin.sources import open_source
from tests.sources.loading import ENGINES, LOADERS, Table, target_of

METHODS = {"generalize": pp.generalize, "generalize_locally": pp.generalize_locally}
UNKNOWN_ZIP, UNKNOWN_AGE = "zqmarker", "997"
COLUMNS = ("zip", "age", "disease")
ROWS = [
    *[("8001", 30, "flu"), ("8001", 30, "cold"), ("8002", 31, "flu"), ("8003", 31, "cold")],
    *[("3001", 50, "flu"), ("3002", 51, "acne"), (None, 50, "acne"), (None, 50, "flu")],
    *[(UNKNOWN_ZIP, 50, "cold"), ("8001", 997, "flu")],
]
K2 = [pp.require("k_anonymity", at_least=2)]


def table_of(rows: list[tuple[Any, ...]]) -> Table:
    kinds = {"zip": "text", "age": "integer", "disease": "text"}
    return Table(kinds=kinds, values=dict(zip(kinds, map(list, zip(*rows, strict=True)), strict=True)))


def hierarchies() -> dict[str, Any]:
    ages = TableHierarchy({n: [f"{n // 10 * 10}s", "*"] for n in (30, 31, 50, 51)})
    return {"zip": pp.mask_hierarchy(length=4), "age": ages}


def make(method: str, data: Any, **options: Any) -> Any:
    options = {"hierarchies": hierarchies(), "requirements": K2, **options}
    return METHODS[method](data, **options)


def counted(data: Any) -> Counter[tuple[str | None, ...]]:
    """Count rows as text: an engine may keep a column that nothing changed as numbers."""
    table = open_source(data).frequencies(COLUMNS)
    rows: Counter[tuple[str | None, ...]] = Counter()
    for row in range(table.distinct):
        values = tuple(None if value is None else str(value) for value in table.values(row))
        rows[values] += int(table.counts[row])
    return rows


def replaced(rows: list[tuple[Any, ...]], treatment: str) -> list[tuple[Any, ...]]:
    """The oracle: leave the rows out, or write `*`, before anything else is done."""
    if treatment == "suppress":
        return [row for row in rows if row[0] != UNKNOWN_ZIP and row[1] != 997]
    return [("*" if z == UNKNOWN_ZIP else z, "*" if a == 997 else a, d) for z, a, d in rows]


@pytest.mark.parametrize("treatment", ["suppress", "top"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_releases_what_the_replaced_table_releases(
    engine: str, method: str, treatment: str, tmp_path: Path
) -> None:
    data = LOADERS[engine](table_of(ROWS), tmp_path)
    plan = make(method, data, unknown=treatment, max_suppression=0.4)
    frame = pd.DataFrame(replaced(ROWS, treatment), columns=COLUMNS, dtype=object)
    allowed = 0.25 if treatment == "suppress" else 0.4  # four of ten rows, two of which are gone
    expected = make(method, frame, max_suppression=allowed)
    assert plan.unknown_rows == {"zip": 1, "age": 1}
    assert plan.rows == 10
    assert plan.suppressed == expected.suppressed + (2 if treatment == "suppress" else 0)
    target = target_of(engine, tmp_path, f"released_{method}_{treatment}")
    released = counted(plan.apply(data, target=target))
    assert released == counted(expected.apply(frame))
    assert not {UNKNOWN_ZIP, UNKNOWN_AGE} & {value for row in released for value in row}
    assert sum(released.values()) == plan.rows - plan.suppressed


@pytest.mark.parametrize("method", METHODS)
def test_the_message_has_columns_and_rows_and_no_value(method: str) -> None:
    frame = pd.DataFrame(ROWS, columns=COLUMNS)
    plan = make(method, frame.iloc[:-2])
    for attempt in (lambda: make(method, frame), lambda: plan.apply(frame)):
        with pytest.raises(HierarchyError) as problem:
            attempt()
        assert "column 'zip' does not cover 1 value(s) in 1 of 10 rows" in str(problem.value)
        assert "column 'age' does not cover 1 value(s) in 1 of 10 rows" in str(problem.value)
        assert UNKNOWN_ZIP not in str(problem.value)
        assert UNKNOWN_AGE not in str(problem.value)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("engine", ["pandas", "duckdb", "sqlite", "postgresql", "mariadb"])
def test_a_saved_plan_treats_unknown_values_of_the_next_partition(engine: str, method: str, tmp_path: Path) -> None:
    """The plan was made on a day without any; the limit of suppression holds for them on the next."""
    first = pd.DataFrame(ROWS[:-2], columns=COLUMNS)
    later = LOADERS[engine](table_of(ROWS), tmp_path)
    for treatment, limit in (("suppress", 0.4), ("top", 0.4)):
        make(method, first, unknown=treatment, max_suppression=limit).save(tmp_path / "plan.json")
        plan: Any = pp.load_plan(tmp_path / "plan.json")
        assert (plan.unknown, plan.unknown_rows) == (treatment, {})
        target = target_of(engine, tmp_path, f"later_{method}_{treatment}")
        if treatment == "top" and method == "generalize_locally":
            with pytest.raises(InfeasibleError, match="outside all regions"):  # no region of the plan has a `*`
                plan.apply(later, target=target)
            continue
        released = counted(plan.apply(later, target=target))
        sizes: Counter[Any] = Counter()
        for (zip_code, age, _), rows in released.items():
            sizes[zip_code, age] += rows
        assert min(sizes.values()) >= 2
        assert 6 <= sum(sizes.values()) <= 8
    strict = make(method, first, unknown="suppress", max_suppression=0.1)
    with pytest.raises(InfeasibleError, match="2 of 10 rows"):
        strict.apply(later, target=target_of(engine, tmp_path, f"refused_{method}"))


@pytest.mark.parametrize("method", METHODS)
def test_more_unknown_rows_than_may_be_suppressed_are_refused(method: str) -> None:
    with pytest.raises(InfeasibleError, match=r"2 of 10 rows .*zip: 1 rows, age: 1 rows.* limit of 10.0%"):
        make(method, pd.DataFrame(ROWS, columns=COLUMNS), unknown="suppress", max_suppression=0.1)
    with pytest.raises(InfeasibleError):
        make(method, pd.DataFrame(ROWS[-2:], columns=COLUMNS), unknown="suppress", max_suppression=1.0)


@pytest.mark.parametrize("method", METHODS)
def test_masked_rows_with_unknown_values_are_a_class_that_is_judged(method: str) -> None:
    frame = pd.DataFrame(ROWS, columns=COLUMNS)
    plan = make(method, frame, unknown="suppress", max_suppression=0.3)
    masked = plan.apply(frame, suppression="mask")
    assert len(masked) == 10
    assert (masked[["zip", "age"]] == "*").all(axis=1).sum() == 2
    with pytest.raises(InfeasibleError, match="masked"):
        plan.apply(frame.iloc[:-1], suppression="mask")  # one masked row is a class of one


@pytest.mark.parametrize("method", METHODS)
def test_people_are_counted_where_there_is_a_unit(method: str) -> None:
    frame = pd.DataFrame([row for row in ROWS for _ in range(2)], columns=COLUMNS)
    frame["person"] = [number // 2 for number in range(len(frame))]
    plan = make(method, frame, unknown="suppress", max_suppression=0.2, unit="person")
    assert (plan.rows, plan.unknown_rows) == (10, {"zip": 1, "age": 1})
    assert plan.suppressed == 2
    assert "zip: 1 people" in dict(plan.describe().rows)["values that no hierarchy covers"]


_ZIPS = st.sampled_from(["8001", "8002", "3001", None, "*", UNKNOWN_ZIP, "another unknown one"])
_AGES = st.sampled_from([30, 31, 50, 51, None, 997])


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(_ZIPS, _AGES, st.sampled_from(["flu", "cold"])), min_size=1, max_size=25),
    treatment=st.sampled_from(["suppress", "top"]),
    method=st.sampled_from(list(METHODS)),
    limit=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_released_rows_meet_the_requirement_and_suppression_is_counted(
    rows: list[tuple[Any, ...]], treatment: str, method: str, limit: float
) -> None:
    frame = pd.DataFrame(rows, columns=COLUMNS, dtype=object)
    try:
        plan = make(method, frame, unknown=treatment, max_suppression=limit)
    except InfeasibleError:
        return
    released = plan.apply(frame)
    assert len(frame) - len(released) == plan.suppressed <= limit * len(frame)
    classes = Counter(zip(released["zip"].map(str), released["age"].map(str), strict=True))
    assert min(classes.values()) >= 2
    unknown = [z in (UNKNOWN_ZIP, "another unknown one") or a == 997 for z, a, _ in rows]
    if treatment == "suppress":
        assert plan.suppressed >= sum(unknown)
    assert 0 <= plan.loss <= 1


def test_a_policy_says_what_to_do_and_a_plan_of_another_treatment_is_refused() -> None:
    policy = {
        "dataset": "visits",
        "columns": {
            "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 4}}},
            "age": {"role": "quasi_identifier", "hierarchy": {"tree": {"30s": [30, 31], "50s": [50, 51]}}},
            "disease": "sensitive",
        },
        "requirements": [{"k_anonymity": {"at_least": 2}}],
        "anonymize": {"method": "generalize", "max_suppression": 0.3, "unknown": "suppress"},
    }
    frame = pd.DataFrame(ROWS, columns=COLUMNS)
    made = anonymize(frame, policy=Policy.from_dict(policy))
    assert Policy.from_dict(policy).judge(made.made).passed
    assert made.to_dict()["plan"]["unknown_rows"] == {"zip": 1, "age": 1}
    again = anonymize(frame, policy=Policy.from_dict(policy), plan=made.plan)
    assert again.to_dict()["unknown"] == {"treatment": "suppress", "rows": {"zip": 1, "age": 1}}
    assert "zip: 1 rows, age: 1 rows" in dict(again.describe().rows)["values that no hierarchy covers, here"]
    strict = {**policy, "anonymize": {"method": "generalize", "max_suppression": 0.3}}
    with pytest.raises(ParameterError, match="made with unknown: suppress, the policy says unknown: refuse"):
        anonymize(frame, policy=Policy.from_dict(strict), plan=made.plan)
    with pytest.raises(PrivacyPluginError, match="unknown"):
        Policy.from_dict({**policy, "anonymize": {"unknown": "maybe"}})


def test_a_population_that_lacks_the_unknown_people_is_refused() -> None:
    """With `top` nobody of the register would be in the class of `*`: the comparison has no answer."""
    frame = pd.DataFrame(ROWS, columns=COLUMNS)
    register = pd.concat([frame.iloc[:-2]] * 3)
    risk = [pp.require("k_map", at_least=2)]
    plan = make("generalize", frame, requirements=risk, population=register, unknown="suppress", max_suppression=0.2)
    assert plan.suppressed == 2
    with pytest.raises(PrivacyPluginError):
        make("generalize", frame, requirements=risk, population=register, unknown="top")
