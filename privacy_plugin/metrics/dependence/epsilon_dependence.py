"""epsilon-dependence as a requirement: a declared channel, and an audit of its paired columns.

epsilon belongs to a mechanism, not to a table. Data alone can only show that it is large: a gate that passed on an
audit would call safe what was merely not detected. So a requirement has to declare the channel; the pairs of original
and released values can refute the declaration, and so close the gate, but never open it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ColumnError, ParameterError, TooLargeError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.metrics.dependence.channel import epsilon_dependence as dependence_of
from privacy_plugin.metrics.dependence.channel import possible_part
from privacy_plugin.metrics.measurement import ComparedValue, Comparison, Measurement, Role
from privacy_plugin.metrics.registry import metric

_MOST_CELLS = 250_000


@dataclass(frozen=True, kw_only=True)
class PairedColumns:
    """An audit of a channel. It bounds epsilon from below and never certifies anything.

    With probability `confidence`, the prior-free epsilon (nats, of one cell) is at least `value`. `mutual_information`
    (nats) is that of the pairs as counted, which is too high: of independent columns, by about (inputs - 1) *
    (outputs - 1) / (2 * rows).
    """

    value: float
    mutual_information: float
    confidence: float
    rows: int
    inputs: int
    outputs: int
    never_certifies: str = "an audit bounds epsilon from below; what the data did not show may still happen"
    assumes: str = "cells are randomized independently of each other, all by the same channel"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "value": self.value,
            "bound": "lower",
            "mutual_information": self.mutual_information,
            "unit": "cell",
            "confidence": self.confidence,
            "rows": self.rows,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "notes": [self.never_certifies, self.assumes],
        }


def paired_columns(table: FrequencyTable, *, original: str, released: str, confidence: Any = 0.95) -> PairedColumns:
    """Bound the epsilon-dependence of original and released values of the same rows from below.

    max over outputs s and inputs x, x' of ln(lower P(s | x) / upper P(s | x')), at least 0, with Clopper-Pearson
    bounds each of which fails with probability (1 - confidence) / (2 * inputs * outputs) (Bonferroni): all hold
    together with probability `confidence`. A missing value is a value of its own. A copy of the column is bounded
    by what so many rows can show, and not by infinity. Cost: 2 bounds for every pair of values.

    >>> rows = [("a", "a")] * 75 + [("a", "b")] * 25 + [("b", "b")] * 75 + [("b", "a")] * 25
    >>> table = FrequencyTable.from_rows(["truth", "shown"], rows)
    >>> 0.4 < paired_columns(table, original="truth", released="shown").value < 1.0986  # ln 3
    True
    """
    from privacy_plugin.metrics.dependence.binomial_bounds import clopper_pearson

    sure = exact(confidence, what="confidence")
    if not 0 < sure < 1:
        raise ParameterError("confidence must lie between 0 and 1, both excluded")
    if original == released:
        raise ColumnError("the original and the released column must be two different columns")
    table.require_one_row_a_person("an audit of paired columns")
    table.require_rows()
    pairs = table.project([original, released])
    inputs, outputs = pairs.cardinalities
    if inputs * outputs > _MOST_CELLS:
        raise TooLargeError(f"{inputs:,} x {outputs:,} values are more than {_MOST_CELLS:,} pairs to bound")
    seen = np.zeros((inputs, outputs), dtype=np.int64)
    seen[pairs.codes[:, 0], pairs.codes[:, 1]] = pairs.counts
    trials = np.repeat(seen.sum(axis=1), outputs)
    alpha = float((1 - sure) / (2 * inputs * outputs))
    low, high = (bound.reshape(inputs, outputs) for bound in clopper_pearson(seen.ravel(), trials, alpha=alpha))
    with np.errstate(divide="ignore"):
        apart = np.log(low.max(axis=0)) - np.log(high.min(axis=0))
    return PairedColumns(
        value=max(float(apart.max()) * (1 - 1e-12), 0.0),
        mutual_information=_mutual_information(seen),
        confidence=float(sure),
        rows=pairs.rows,
        inputs=inputs,
        outputs=outputs,
    )


def _mutual_information(seen: npt.NDArray[np.int64]) -> float:
    """Return the mutual information of a table of counts, in nats."""
    shares = seen / seen.sum()
    apart = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
    held = seen > 0
    return max(float((shares[held] * np.log(shares[held] / apart[held])).sum()), 0.0)


def require_channel(channel: Any, prior: Any = None, confidence: Any = 0.95) -> None:
    """Raise if the channel, the prior or the confidence is invalid."""
    dependence_of(channel, prior=prior)
    if not 0 < exact(confidence, what="confidence") < 1:
        raise ParameterError("confidence must lie between 0 and 1, both excluded")


@dataclass(frozen=True, kw_only=True)
class DependenceMeasurement(Measurement):
    """The epsilon of a declared channel, with what the pairs of cells show at least."""

    @property
    def comparison(self) -> Comparison:
        """The declared epsilon next to what the pairs show, and to mutual information, in nats."""
        details, refuted, prior = self.details, self.details["refuted"], self.parameters["prior"]
        judged: Role = "reference" if refuted and not prior else "judged"
        declared = [("declared, for any attacker", "declared_prior_free", "reference" if prior else judged)]
        if prior:
            declared.append(("declared, under the stated prior", "declared_epsilon", judged))
        values: list[tuple[str, str, Role]] = [
            *declared,
            ("shown by the pairs, at least", "audited_lower_bound", "bad" if refuted else "reference"),
            ("mutual information of the pairs, as counted", "information_of_the_pairs", "reference"),
            ("mutual information, at most (of what is declared)", "information_bound", "reference"),
        ]
        return Comparison(
            caption="epsilon of one cell, in nats",
            values=tuple(
                ComparedValue(name=name, value=details[detail], role=role, unit="number")
                for name, detail, role in values
            ),
        )


@metric(
    title="epsilon-dependence",
    symbols={"epsilon": "at_most"},
    safer="lower",
    kind="audit",
    ordered=True,
    attacker="who sees a released cell of {attributes} can change a belief about the original cell by a factor of "
    "more than e to the power of {limit}",
    remedy="randomize the cells more strongly, or correct the declared channel if the data refute it",
    paper="Dorrestijn 2018",
    axis="epsilon of one cell",
    picture="channel",
    shows="The declared mechanism moves no belief about one cell by more than the factor e to the power of the limit, "
    "and the pairs of original and released cells do not refute the declaration.",
    hides="That the declared mechanism was really used: data can refute that and never prove it. The epsilon is that "
    "of one cell; the cells of a row add up, and so do releases. It does not certify safety.",
    smallest=0,
    check=require_channel,
)
def epsilon_dependence(
    table: FrequencyTable,
    *,
    attributes: Sequence[str],
    channel: Any,
    prior: Any = None,
    confidence: float = 0.95,
) -> DependenceMeasurement:
    """Return the epsilon of the declared channel, or what the paired columns prove if that is more.

    `attributes`: the original column, then the released one. `channel`: P(released | original), a row for every
    value that can be released from. value = the prior-free epsilon of the channel, rounded up, or its epsilon under a
    given `prior` of the original values (which other attackers need not share), in nats, for one cell: the epsilons of
    a row's cells add up. If the lower confidence bound of the pairs is above the declared prior-free epsilon (of the
    inputs that the prior holds possible), the declaration is refuted and the bound is the value. Dorrestijn 2018,
    Definition 1 and Corollary 1; see `privacy_plugin.metrics.dependence.channel` for errata and rounding and
    `metrics.dependence.epsilon_dependence` for the bound. More values in the data than channel and prior hold possible
    are a refutation: infinite. The audit refutes a right declaration with probability at most 1 - confidence. That
    the channel was used is declared, not proven.

    `details` holds mutual information in nats: of channel and prior, never above epsilon * tanh(epsilon / 2), which is
    `information_bound`; and of the pairs as counted, which is biased upwards.

    >>> rows = [("a", "a")] * 75 + [("a", "b")] * 25 + [("b", "b")] * 75 + [("b", "a")] * 25
    >>> table = FrequencyTable.from_rows(["truth", "shown"], rows)
    >>> honest, flattering = [["3/4", "1/4"], ["1/4", "3/4"]], [["1/2", "1/2"], ["1/2", "1/2"]]
    >>> round(epsilon_dependence(table, attributes=["truth", "shown"], channel=honest).value, 4)
    1.0986
    >>> epsilon_dependence(table, attributes=["truth", "shown"], channel=flattering).details["refuted"]
    True
    """
    if len(attributes) != 2:
        raise ColumnError(f"epsilon_dependence takes two attributes, the original and the released; {len(attributes)}")
    original, released = attributes
    declared = dependence_of(channel, prior=prior)
    audit = paired_columns(table, original=original, released=released, confidence=confidence)
    possible = dependence_of(possible_part(channel, prior=prior))
    too_many = audit.inputs > possible.inputs or audit.outputs > possible.outputs
    shown = math.inf if too_many else audit.value
    refuted = shown > possible.prior_free or too_many
    return DependenceMeasurement(
        metric="epsilon_dependence",
        value=shown if refuted else declared.value,
        parameters={"attributes": list(attributes), "confidence": audit.confidence, "prior": prior is not None},
        rows=table.rows,
        classes=audit.inputs,
        error=0.0 if refuted else declared.error,
        details={
            "declared_epsilon": declared.value,
            "declared_prior_free": declared.prior_free,
            "audited_lower_bound": shown,
            "refuted": refuted,
            "mutual_information": declared.mutual_information,
            "information_bound": declared.information_bound,
            "information_of_the_pairs": audit.mutual_information,
            "privacy_unit": "cell",
        },
        reason="The pairs of cells prove at least this value, more than the declared epsilon." if refuted else "",
        notes=(
            "the epsilon is that of one cell; those of a row's cells add up",
            "the channel is declared; data can refute it but never prove it",
            *(() if prior is None else ("it holds only for attackers who believe the stated prior",)),
        ),
    )
