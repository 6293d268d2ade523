"""The privacy budget of a table is that of its dataset, and only a recorded private release has one."""

import math
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import BudgetError, ParameterError, PolicyError
from privacy_plugin.ledger import BudgetLedger, Release
from privacy_plugin.sources.fingerprint import content_fingerprint
from tests.oracles.budget import judged_epsilon

TABLES = [pd.DataFrame({"age": ages, "sex": ["f", "m"]}) for ages in ([30, 41], [30, 42], [41, 30])]
PRINTS = [content_fingerprint(table) for table in TABLES]


def booked(*spends: dict[str, Any]) -> BudgetLedger:
    """A ledger with these spends."""
    ledger = BudgetLedger("sqlite://")
    for spend in spends:
        place = {"dataset": spend["dataset"], "unit": spend["unit"]}
        ledger.set_cap(**place, epsilon=100, delta=1)
        number = ledger.reserve(**place, epsilon=spend["epsilon"], delta=spend["delta"], mechanism="test")
        if spend["ended"]:
            made = (PRINTS[spend["made"]],)
            account = {"neighbours": "tables that differ in one row", "assumptions": ["n is public"]}
            ledger.commit(number, Release(private=spend["private"], fingerprints=made, account=account))
    return ledger


def spend(**changes: Any) -> dict[str, Any]:
    usual = {"dataset": "visits", "unit": "row", "epsilon": 1, "delta": 0, "made": 0, "ended": True, "private": True}
    return {**usual, **changes}


def judged(ledger: BudgetLedger, table: Any = TABLES[0], **options: Any) -> Any:
    with pp.using_ledger(ledger):
        return pp.require("privacy_budget", **{"privacy_unit": "row", "at_most": 1, **options}).judge(table)


def test_a_recorded_release_within_the_budget_passes() -> None:
    finding = judged(booked(spend(epsilon=0.75, delta=1e-7)), delta=1e-6)
    assert finding.passed
    assert finding.value == Fraction(3, 4)
    details = finding.to_dict()["measurement"]["details"]
    assert details["words"] == "epsilon 0.75, delta 1e-07 a row; composed over 1 spend"
    assert details["neighbours"] == "tables that differ in one row"
    assert details["assumptions"] == ["n is public"]
    assert "rests on assumptions that cannot be checked here: n is public" in " ".join(finding.measurement.notes)


def test_the_budget_is_that_of_the_whole_dataset() -> None:
    ledger = booked(spend(epsilon=0.75), spend(epsilon=0.5, made=1), spend(epsilon=9, dataset="others", made=1))
    finding = judged(ledger)
    assert (finding.status, finding.value) == ("failed", Fraction(5, 4))
    assert "spent budget cannot be recovered" in finding.reason


def test_a_reservation_counts_and_is_noted() -> None:
    finding = judged(booked(spend(epsilon=0.75), spend(epsilon=0.25, ended=False)))
    assert finding.passed
    assert finding.value == 1
    assert "1 of them never reported their end" in " ".join(finding.measurement.notes)


def test_releases_under_two_neighbour_relations_are_counted_for_the_stronger_one() -> None:
    ledger = booked(spend(epsilon=0.5))
    ledger.reserve(dataset="visits", unit="row", epsilon=0.25, mechanism="test", neighbours="added or removed")
    finding = judged(ledger)
    assert finding.value == 1
    assert "the total holds for a row substituted" in " ".join(finding.measurement.notes)


def test_a_budget_for_a_row_added_or_removed_notes_what_it_does_not_limit() -> None:
    ledger = booked()
    ledger.set_cap(dataset="visits", unit="row", epsilon=1)
    relation = {"neighbours": "added or removed", "epsilon": 1}
    number = ledger.reserve(dataset="visits", unit="row", mechanism="test", **relation)
    ledger.commit(number, Release(private=True, fingerprints=(PRINTS[0],)))
    assert "is protected with twice the epsilon" in " ".join(judged(ledger).measurement.notes)
    assert "twice the epsilon" not in " ".join(judged(booked(spend())).measurement.notes)


def test_of_two_datasets_with_the_same_release_neither_hides_the_other() -> None:
    """The one with less epsilon has spent a delta that is not accepted."""
    ledger = booked(spend(epsilon=1), spend(epsilon=0.5, delta=0.5, dataset="others"))
    assert judged(ledger, delta=1e-6).value == math.inf
    assert judged(ledger, delta=1e-6, dataset="visits").passed


def test_too_much_delta_is_an_infinite_epsilon_with_a_reason() -> None:
    finding = judged(booked(spend(epsilon=0.1, delta=1e-6), spend(epsilon=0.1, delta=1e-6, made=1)), delta=1e-6)
    assert (finding.status, finding.value) == ("failed", math.inf)
    assert "delta 2e-06 a row; a delta of at most 1e-06 is accepted" in finding.reason


@pytest.mark.parametrize(
    ("ledger", "options", "reason"),
    [
        (booked(), {}, "no record of this table"),
        (booked(spend(made=1)), {}, "no record of this table"),
        (booked(spend(ended=False)), {}, "no record of this table"),
        (booked(spend(private=False)), {}, "test generator"),
        (booked(spend(unit="cell")), {}, "kept per cell"),
        (booked(spend()), {"dataset": "others"}, "another dataset than 'others'"),
    ],
)
def test_a_table_that_no_private_release_made_is_never_evaluated(
    ledger: BudgetLedger, options: dict[str, Any], reason: str
) -> None:
    finding = judged(ledger, at_most=1000, **options)
    assert finding.status == "not_evaluated"
    assert reason in finding.reason


@pytest.mark.parametrize(
    "changed",
    [
        TABLES[0].assign(name=["Ann", "Bo"]),
        TABLES[0][["age"]],
        TABLES[0].rename(columns={"age": "years"}),
        pd.concat([TABLES[0], TABLES[0]]),
        TABLES[0].iloc[:1],
        TABLES[0].astype(str),
    ],
)
def test_a_changed_release_is_another_table(changed: pd.DataFrame) -> None:
    assert judged(booked(spend()), changed, at_most=1000).status == "not_evaluated"


def test_the_order_of_rows_and_columns_changes_nothing() -> None:
    assert judged(booked(spend()), TABLES[0].iloc[::-1][["sex", "age"]]).passed


def test_an_empty_table_or_a_missing_ledger_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(booked(spend()), TABLES[0].iloc[:0]).status == "not_evaluated"
    monkeypatch.delenv("PRIVACY_PLUGIN_LEDGER", raising=False)
    finding = pp.require("privacy_budget", privacy_unit="row", at_most=1).judge(TABLES[0])
    assert finding.status == "not_evaluated"
    assert "PRIVACY_PLUGIN_LEDGER" in finding.reason


def test_the_environment_variable_locates_the_ledger(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"sqlite:///{tmp_path / 'secret.db'}"
    monkeypatch.setenv("PRIVACY_PLUGIN_LEDGER", address)
    asked = pp.require("privacy_budget", privacy_unit="row", at_most=1)
    finding = asked.judge(TABLES[0])
    assert finding.status == "not_evaluated"
    assert "secret" not in str(finding.to_dict())
    assert not (tmp_path / "secret.db").exists()
    ledger = BudgetLedger(address)
    ledger.set_cap(dataset="visits", unit="row", epsilon=1)
    number = ledger.reserve(dataset="visits", unit="row", epsilon=1, mechanism="test")
    ledger.commit(number, Release(private=True, fingerprints=(PRINTS[0],)))
    assert asked.judge(TABLES[0]).passed
    assert pp.privacy_budget(TABLES[0], privacy_unit="row").value == 1
    with pp.using_ledger(address):
        assert asked.judge(TABLES[0]).passed
    with pp.using_ledger(BudgetLedger("sqlite://")):
        assert not asked.judge(TABLES[0]).passed
    assert "secret" not in str(asked.judge(TABLES[0]).to_dict())


@pytest.mark.parametrize(
    "wrong",
    [
        {"privacy_unit": None},
        {"privacy_unit": ""},
        {"privacy_unit": 3},
        {"delta": 1},
        {"delta": -1},
        {"delta": "many"},
        {"dataset": 3},
        {"at_most": -1},
        {"at_most": None, "at_least": 1},
        {"unit": "row"},
    ],
)
def test_invalid_options_raise_before_the_ledger_is_read(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        pp.require("privacy_budget", **{"privacy_unit": "row", "at_most": 1, **wrong})


def test_a_policy_names_its_own_dataset() -> None:
    def policy(**line: Any) -> pp.Policy:
        return pp.Policy.from_dict(
            {
                "dataset": "visits",
                "columns": {"age": "quasi_identifier", "sex": "quasi_identifier"},
                "requirements": [{"privacy_budget": {"at_most": 1, "privacy_unit": "row", **line}}],
            }
        )

    with pp.using_ledger(booked(spend())):
        assert policy().judge(TABLES[0]).passed
    with pp.using_ledger(booked(spend(dataset="others"))):
        assert not policy().judge(TABLES[0]).passed
    with pytest.raises(PolicyError, match="names the dataset 'others'"):
        policy(dataset="others")


def test_no_generalization_meets_it() -> None:
    hierarchies = {"age": pp.interval_hierarchy(start=0, stop=100, widths=[10])}
    with pytest.raises(ParameterError, match="judges randomized releases"):
        pp.generalize(
            TABLES[0],
            hierarchies=hierarchies,
            requirements=[pp.require("privacy_budget", privacy_unit="row", at_most=1)],
        )


SPENDS = st.lists(
    st.builds(
        spend,
        dataset=st.sampled_from(["visits", "others"]),
        unit=st.sampled_from(["row", "row", "cell"]),
        epsilon=st.fractions(0, 2, max_denominator=8),
        delta=st.sampled_from([Fraction(0), Fraction(1, 10**6)]),
        made=st.sampled_from([0, 0, 1]),
        ended=st.sampled_from([True, True, False]),
        private=st.sampled_from([True, True, False]),
    ),
    max_size=5,
)


@settings(max_examples=60, deadline=None)
@given(spends=SPENDS, dataset=st.sampled_from([None, "visits"]))
def test_the_definition(spends: list[dict[str, Any]], dataset: str | None) -> None:
    delta = Fraction(1, 10**6)
    options = {} if dataset is None else {"dataset": dataset}
    finding = judged(booked(*spends), at_most=1, delta=delta, **options)
    expected = judged_epsilon(spends, table=0, unit="row", delta=delta, dataset=dataset)
    if expected == "closed":
        assert finding.status == "not_evaluated"
    else:
        assert finding.value == (math.inf if expected == "infinite" else expected)
        assert finding.passed is (expected != "infinite" and expected <= 1)


def test_a_ledger_that_breaks_closes_the_gate() -> None:
    ledger = booked(spend())
    with ledger._engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE privacy_budget_spends")
    with pytest.raises(BudgetError):
        ledger.entries()
    finding = judged(ledger)
    assert finding.status == "not_evaluated"
    assert "SELECT" not in finding.reason
