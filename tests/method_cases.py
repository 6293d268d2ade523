"""One small release for every method that a policy can name: what the tests of all doors run."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from tests.randomized_policies import (
    EPSILON_SAFE,
    ITEMSET_COUNTS,
    ITEMSETS,
    KRIMP,
    RESPONSE,
    SYNTHESIZE,
    policy_dict,
)
from tests.randomized_policies import people as drawn_people

_COLUMNS = {
    "name": "identifier",
    "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"start": 0, "stop": 100, "widths": [10, 50]}}},
    "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 3}}},
    "disease": "sensitive",
}
_CLASSES = [{"k_anonymity": {"at_least": 3}}, {"l_diversity": {"variant": "distinct", "at_least": 2}}]


@dataclass(frozen=True, kw_only=True)
class MethodCase:
    """A policy, the raw table, and the population or the source that its gate compares with."""

    policy: dict[str, Any]
    raw: pd.DataFrame
    population: pd.DataFrame | None = None
    compares_with_source: bool = False
    draws: bool = False
    tables: tuple[str, ...] = ("",)


def _visits(count: int = 60) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "name": [f"MARKER {number}" for number in range(count)],
            "age": [20 + number % 30 for number in range(count)],
            "zip": [str(100 + number % 7) for number in range(count)],
            "disease": ["abcde"[number % 5] for number in range(count)],
        }
    )


def _searching(method: str, requirements: list[Any] | None = None, **options: Any) -> dict[str, Any]:
    given = {"dataset": "visits", "columns": _COLUMNS, "requirements": requirements or _CLASSES}
    return {**given, "anonymize": {"method": method, **options}}


def _repairable() -> pd.DataFrame:
    rows = [("8001", "yes", "flu")] * 6 + [("8001", "no", "flu"), ("8001", "no", "gout")] * 4
    rows += [("8002", "yes", "gout"), ("8002", "yes", "flu")] * 5 + [("8002", "no", "flu"), ("8002", "no", "gout")] * 3
    frame = pd.DataFrame(rows, columns=["zip", "ill", "disease"])
    return frame.assign(name=[f"MARKER {number}" for number in range(len(frame))])


def _repairing(method: str) -> MethodCase:
    policy = {
        "dataset": "visits",
        "columns": {"name": "identifier", "zip": "quasi_identifier", "ill": "quasi_identifier", "disease": "sensitive"},
        "requirements": [{"privacy_score": {"statistic": "maximum", "at_most": 0}}, {"k_anonymity": {"at_least": 5}}],
        "anonymize": {"method": method, "max_false_share": 0.3},
    }
    return MethodCase(policy=policy, raw=_repairable(), compares_with_source=True)


def _drawing(method: dict[str, Any]) -> MethodCase:
    return MethodCase(policy=policy_dict(anonymize=method), raw=pd.DataFrame(drawn_people()), draws=True)


METHOD_CASES = {
    "generalize_locally": MethodCase(policy=_searching("generalize_locally", max_suppression=0.1), raw=_visits()),
    "generalize": MethodCase(policy=_searching("generalize", max_suppression=0.1), raw=_visits()),
    "multidimensional_presence": MethodCase(
        policy=_searching("multidimensional_presence", [{"delta_presence": {"between": [0.1, 0.6]}}]),
        raw=_visits(120).iloc[::3],
        population=_visits(120).drop(columns=["name", "disease"]),
    ),
    "bucketize": MethodCase(
        policy=_searching(
            "bucketize", [{"maximum_disclosure": {"knowledge": 1, "below": 0.6}}], knowledge=1, below=0.6
        ),
        raw=_visits(),
        tables=("_people", "_values"),
    ),
    "greedy_repair": _repairing("greedy_repair"),
    "fill_holes": _repairing("fill_holes"),
    "epsilon_safe_lattice": _drawing(EPSILON_SAFE),
    "synthesize": _drawing(SYNTHESIZE),
    "randomized_response": _drawing(RESPONSE),
    "private_itemsets": _drawing(ITEMSETS),
    "randomized_itemset_counts": _drawing(ITEMSET_COUNTS),
    "sanitized_krimp": _drawing(KRIMP),
}
