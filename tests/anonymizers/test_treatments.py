"""Treated columns in a policy: the same rows in every engine, judged by the gate as released."""

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.errors import PolicyError
from privacy_plugin.sources import open_source
from tests.sources.loading import ENGINES, LOADERS, Table, target_of

AGES = [20, 21, 22, 23, 60, 61, 95, 96]
INCOMES = [100, 110, 120, 130, 900, 910, 5000, 7000]
STAYS = [1, 2, 3, 4, 8, 9, 30, None]
TABLE = Table(
    kinds={"age": "integer", "income": "integer", "stay": "integer"},
    values={"age": AGES, "income": INCOMES, "stay": STAYS},
)
COLUMNS: dict[str, Any] = {
    "age": {
        "role": "quasi_identifier",
        "hierarchy": {"intervals": {"start": 0, "stop": 100, "widths": [10, 50]}},
        "treatment": {"top": 90},
    },
    "income": {"role": "sensitive", "treatment": {"top": 1000, "round": 100}},
    "stay": {"role": "insensitive", "treatment": {"microaggregate": 3}},
}


def policy_of(method: str = "generalize_locally", **changed: Any) -> pp.Policy:
    return pp.Policy.from_dict(
        {
            "dataset": "visits",
            "columns": {**COLUMNS, **changed},
            "requirements": [{"k_anonymity": {"at_least": 2}}],
            "anonymize": {"method": method},
        }
    )


INCOME_RELEASED = [100, 100, 100, 100, 900, 900, 1000, 1000]
STAY_RELEASED = [2, 2, 2, 13, 13, 13, 13, None]  # means of 1, 2, 3 and of 4, 8, 9, 30


@pytest.mark.parametrize("method", ["generalize", "generalize_locally"])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_writes_the_same_treated_rows(engine: str, method: str, tmp_path: Path) -> None:
    policy = policy_of(method)
    made = anonymize(LOADERS[engine](TABLE, tmp_path), policy=policy, target=target_of(engine, tmp_path, "released"))
    table = open_source(made.made).frequencies(("income", "stay"))
    found = Counter({tuple(table.values(row)): int(table.counts[row]) for row in range(table.distinct)})
    assert sum(found.values()) == 8
    wanted = Counter(zip(INCOME_RELEASED, STAY_RELEASED, strict=True))
    assert Counter({tuple(_number(v) for v in row): n for row, n in found.items()}) == wanted
    if engine not in ("csv", "sqlite"):
        assert all(isinstance(value, int | float | None) for row in found for value in row)
    assert policy.judge(made.made, plan=made.plan).passed


def _number(value: Any) -> Any:
    return None if value is None else float(value)


def frame() -> pd.DataFrame:
    return pd.DataFrame({"age": AGES, "income": INCOMES, "stay": STAYS})


def test_the_gate_judges_the_released_values(tmp_path: Path) -> None:
    policy = policy_of()
    made = anonymize(frame(), policy=policy)
    verdict = policy.judge(made.made)
    assert verdict.passed
    assert "column 'income' was top-coded at 1000, rounded to multiples of 100" in verdict.notes
    assert dict(made.describe().rows)["column stay"] == "replaced by means of at least 3 rows"
    raw = made.made.assign(income=INCOMES)
    assert "but 6 rows are not" in str(policy.judge(raw).reasons)
    assert not policy.judge(made.made.assign(stay=STAYS)).passed
    from privacy_plugin.report import measure_usefulness, write_report

    useful = measure_usefulness(made.made, frame(), policy=policy, plan=made.result)
    assert useful is not None
    assert not useful.problem
    page = write_report(tmp_path / "r.html", policy=policy, verdicts=[("a", verdict)], plan=made.result)
    assert "replaced by means of at least 3 rows" in page.read_text(encoding="utf-8")


def test_requirements_on_sensitive_values_hold_for_the_treated_ones() -> None:
    content: dict[str, Any] = {
        "dataset": "visits",
        "columns": COLUMNS,
        "requirements": [{"l_diversity": {"at_least": 2, "variant": "distinct"}}],
        "anonymize": {},
    }
    policy = pp.Policy.from_dict(content)
    made = anonymize(frame(), policy=policy)
    assert made.made.groupby("age")["income"].nunique().min() >= 2
    assert policy.judge(made.made).passed


def test_a_saved_plan_is_applied_to_treated_rows(tmp_path: Path) -> None:
    policy = policy_of()
    first = anonymize(frame(), policy=policy)
    assert first.plan is not None
    first.plan.save(tmp_path / "plan.json")
    later = anonymize(frame().assign(age=[*AGES[:6], 97, 99]), policy=policy, plan=pp.load_plan(tmp_path / "plan.json"))
    assert policy.judge(later.made).passed
    assert len(later.made) == 8


def test_policies_that_cannot_treat_are_refused_and_the_digest_covers_treatments() -> None:
    changed = policy_of(income={"role": "sensitive", "treatment": {"top": 2000, "round": 100}})
    assert changed.digest != policy_of().digest
    with pytest.raises(PolicyError, match="never released"):
        policy_of(name={"role": "identifier", "treatment": {"top": 3}})
    with pytest.raises(PolicyError, match="bottom must be below top"):
        policy_of(income={"role": "sensitive", "treatment": {"top": 1, "bottom": 3}})
    base: dict[str, Any] = {"dataset": "visits", "columns": COLUMNS}
    with pytest.raises(PolicyError, match="second table"):
        pp.Policy.from_dict({**base, "requirements": [{"k_map": {"at_least": 2}}], "anonymize": {}})
    k5 = [{"k_anonymity": {"at_least": 5}}]
    with pytest.raises(PolicyError, match="people are counted"):
        pp.Policy.from_dict({**base, "columns": {**COLUMNS, "who": "unit"}, "requirements": k5, "anonymize": {}})
    drawn = {"method": "bucketize", "knowledge": 1, "below": 0.9}
    disclosure = [{"maximum_disclosure": {"knowledge": 1, "below": 0.9}}]
    with pytest.raises(PolicyError, match="cannot treat"):
        pp.Policy.from_dict({**base, "requirements": disclosure, "anonymize": drawn})
