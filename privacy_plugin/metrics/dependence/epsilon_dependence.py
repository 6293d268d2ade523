"""epsilon-dependence at the gate: a declared channel, and the columns it is said to have made.

epsilon belongs to a mechanism, not to a table. Data alone can only show that it is large: a gate that passed on an
audit would call safe what was merely not caught. So a requirement has to declare the channel; the pairs of original
and released values can refute the declaration, and so close the gate, but never open it.
"""

import math
from collections.abc import Sequence
from typing import Any

from privacy_plugin.errors import ColumnError, ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.metrics.dependence.channel import epsilon_dependence as dependence_of
from privacy_plugin.metrics.dependence.channel import possible_part
from privacy_plugin.metrics.dependence.paired_columns import paired_columns
from privacy_plugin.metrics.measurement import Measurement
from privacy_plugin.metrics.registry import metric


def require_channel(channel: Any, prior: Any = None, confidence: Any = 0.95) -> None:
    """Refuse a channel that is no matrix of probabilities, a prior that does not fit, a confidence that is none."""
    dependence_of(channel, prior=prior)
    if not 0 < exact(confidence, what="confidence") < 1:
        raise ParameterError("confidence must lie between 0 and 1, both excluded")


@metric(
    title="epsilon-dependence",
    safer="lower",
    kind="audit",
    ordered=True,
    attacker="who sees a released cell of {attributes} can move a belief about the original cell by a factor of "
    "more than e to the power of {limit}",
    remedy="randomize the cells more strongly, or correct the declared channel if the data refute it",
    paper="Dorrestijn 2018",
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
) -> Measurement:
    """Return the epsilon of the declared channel, or what the paired columns prove if that is more.

    `attributes`: the original column, then the released one. `channel`: P(released | original), a row for every
    value that can be released from. value = the prior-free epsilon of the channel, rounded up, or its epsilon under a
    given `prior` of the original values (which other attackers need not share), in nats, for one cell: the epsilons of
    a row's cells add up. If the lower confidence bound of the pairs is above the declared prior-free epsilon (of the
    inputs that the prior holds possible), the declaration is refuted and the bound is the value. Dorrestijn 2018,
    Definition 1 and Corollary 1; see `privacy_plugin.metrics.dependence.channel` for errata and rounding and
    `metrics.dependence.paired_columns` for the bound. More values in the data than channel and prior hold possible
    are a refutation: infinite. The audit refutes a right declaration with probability at most 1 - confidence. That
    the channel was used is declared, not proven.

    Mutual information beside it, in nats: of channel and prior, never above epsilon * tanh(epsilon / 2), which is
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
    return Measurement(
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
        reason="The pairs of cells show that it is at least that much, more than is declared." if refuted else "",
        notes=(
            "the epsilon is that of one cell; those of a row's cells add up",
            "the channel is declared; data can refute it and can never prove it",
            *(() if prior is None else ("it holds for attackers who believe the stated prior, and for no others",)),
        ),
    )
