"""Policies that draw, and data for them: shared by the tests of the doors."""

from typing import Any

from privacy_plugin.ledger import BudgetLedger

BUDGET = {"privacy_budget": {"at_most": 2, "delta": 0.01, "privacy_unit": "row"}}
SYNTHESIZE = {"method": "synthesize", "epsilon": 1, "delta": 1e-6, "domains": "occurring"}
RESPONSE = {"method": "randomized_response", "epsilon": 0.5, "domains": "occurring"}
EPSILON_SAFE = {"method": "epsilon_safe_lattice", "k": 30, "beta": 0.5, "epsilon": 1, "penalty": 1}


def policy_dict(**changes: Any) -> dict[str, Any]:
    """A policy that every randomized method can serve: each released column is a quasi-identifier with a hierarchy."""
    return {
        "dataset": "visits",
        "columns": {
            "name": "identifier",
            "sex": {"role": "quasi_identifier", "hierarchy": {"tree": {"*": ["f", "m"]}}},
            "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 3}}},
        },
        "requirements": [BUDGET],
        "anonymize": SYNTHESIZE,
        **changes,
    }


MONTHS = ["2024-01", "2024-02"]
MONTHLY_DOMAINS = {"sex": ["f", "m"], "month": MONTHS, "zip": ["100", "101", "102"]}


def monthly_policy_dict(method: dict[str, Any]) -> dict[str, Any]:
    """The same with the partition column `month`, whose declared domain holds the keys of all partitions."""
    given = policy_dict(anonymize={**method, **({"domains": MONTHLY_DOMAINS} if "domains" in method else {})})
    months = {"role": "quasi_identifier", "hierarchy": {"tree": {"*": MONTHS}}}
    columns = given["columns"]
    given["columns"] = {"name": columns["name"], "sex": columns["sex"], "month": months, "zip": columns["zip"]}
    return given


def people(count: int = 1200) -> dict[str, list[str]]:
    """So many that no draw of ours leaves out every class: half of 67 people are now and then fewer than 30."""
    return {
        "name": [f"MARKER person {i}" for i in range(count)],
        "sex": ["fm"[i % 2] for i in range(count)],
        "zip": [str(100 + i % 3) for i in range(count)],
    }


def open_ledger(address: str = "sqlite://", *, epsilon: object = 2, delta: object = 0.01) -> BudgetLedger:
    """A ledger with a cap for the policy's dataset."""
    ledger = BudgetLedger(address)
    ledger.set_cap(dataset="visits", unit="row", epsilon=epsilon, delta=delta)
    return ledger


ITEMSETS = {"method": "private_itemsets", "epsilon": 1, "support": "1/4", "number": 3, "domains": "occurring"}
ITEMSET_COUNTS = {
    "method": "randomized_itemset_counts",
    "epsilon": 0.5,
    "itemsets": [{"sex": "f"}, {"sex": "m", "zip": "101"}],
}
KRIMP = {"method": "sanitized_krimp", "from": "synthesize", "epsilon": 1, "delta": 1e-6, "domains": "occurring"}
KRIMP_OF_CELLS = {
    "method": "sanitized_krimp",
    "from": "randomized_response",
    "epsilon": 0.75,
    "support": "1/10",
    "domains": "occurring",
}
