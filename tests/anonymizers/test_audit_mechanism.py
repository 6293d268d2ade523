"""The audit of mechanisms: it never exceeds a true epsilon more often than stated, and detects broken ones."""

import math

import numpy as np
import pandas as pd
import pytest

import privacy_plugin as pp

TABLES = tuple(pp.FrequencyTable.from_rows(["smokes"], [(first,), ("yes",), ("no",)]) for first in ("yes", "no"))


def answering(keep: float, generator: np.random.Generator):  # type: ignore[no-untyped-def]
    return lambda truth: bool(truth) == bool(generator.random() < keep)


def test_the_bound_is_below_the_true_epsilon_except_with_the_stated_probability() -> None:
    generator = np.random.default_rng(3)
    mechanism = answering(0.75, generator)
    audits = [pp.audit_mechanism(mechanism, neighbours=(True, False), draws=200, confidence=0.9) for _ in range(200)]
    exceeded = sum(audit.refutes(math.log(3)) for audit in audits)
    assert exceeded <= 0.1 * len(audits)
    assert np.mean([audit.epsilon_at_least for audit in audits]) > 0.3


def test_a_mechanism_that_releases_the_table_is_refuted() -> None:
    audit = pp.audit_mechanism(lambda table: table, neighbours=TABLES, draws=500)
    assert audit.refutes(3)
    assert audit.outputs == 2


def test_delta_excuses_a_rare_failure() -> None:
    generator = np.random.default_rng(5)

    def rarely(truth: bool) -> str:
        return str(truth) if generator.random() < 0.05 else "nothing"

    assert pp.audit_mechanism(rarely, neighbours=(True, False), draws=2_000).epsilon_at_least > 1
    assert pp.audit_mechanism(rarely, neighbours=(True, False), draws=2_000, delta=0.08).epsilon_at_least == 0


def test_our_own_mechanism_keeps_its_claim_and_half_the_claim_is_refuted() -> None:
    def randomize(table: pp.FrequencyTable) -> object:
        return pp.randomized_response(table, columns=["smokes"], epsilon=2)

    audit = pp.audit_mechanism(randomize, neighbours=TABLES, draws=1_500)
    assert not audit.refutes(2)
    assert audit.refutes(1)


def test_frames_are_compared_by_content_and_not_by_order() -> None:
    generator = np.random.default_rng(1)
    frame = pd.DataFrame({"a": ["x", "y", "z"]})
    audit = pp.audit_mechanism(
        lambda table: table.sample(frac=1, random_state=generator), neighbours=(frame, frame), draws=50
    )
    assert (audit.outputs, audit.epsilon_at_least) == (1, 0)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"draws": 1}, "draws must be"),
        ({"draws": 10, "confidence": 1}, "confidence between"),
        ({"draws": 10, "neighbours": (1,)}, "must be two tables"),
        ({"draws": 10, "neighbours": ({1}, {2})}, "returned set"),
    ],
)
def test_what_makes_no_sense_raises_an_error(arguments: dict[str, object], problem: str) -> None:
    with pytest.raises(pp.PrivacyPluginError, match=problem):
        pp.audit_mechanism(lambda table: table, **{"neighbours": (True, False), **arguments})  # type: ignore[arg-type]
