"""Learned accuracy: how often what is learned from a released table is right about the original."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privacy_plugin.errors import ColumnError, ParameterError, TooLargeError, unknown_name
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import pack, tally
from privacy_plugin.metrics.measurement import ComparedValue, Comparison, Measurement
from privacy_plugin.metrics.presence.population_join import require_hierarchies
from privacy_plugin.metrics.registry import metric
from privacy_plugin.metrics.usability.compared_tables import ComparedTables, Floats, Hierarchies, Side, compare_tables

_MOST_SCORES = 500_000_000
_TIE = 1e-9  # scores that are closer differ by rounding


def require_target(target: object, hierarchies: Hierarchies | None = None) -> None:
    """Raise if the target is not the name of a column."""
    require_hierarchies(hierarchies)
    if not isinstance(target, str) or not target:
        raise ParameterError("target must be the name of the column that is predicted")


@dataclass(frozen=True, kw_only=True)
class LearnedAccuracy(Measurement):
    """Accuracy on the original of naive Bayes trained on the generated table and on the original."""

    @property
    def trained_on_original(self) -> Fraction:
        """What the same learner reaches when it is trained on the rows that it is tested on."""
        return Fraction(self.details["trained_on_original"])

    @property
    def largest_class(self) -> Fraction:
        """What always naming the largest class reaches."""
        return Fraction(self.details["largest_class"])

    @property
    def comparison(self) -> Comparison:
        """The accuracy next to the original as a teacher, and to no teacher at all."""
        return Comparison(
            caption=f"Rows of the original whose {self.parameters['target']} is predicted",
            values=(
                ComparedValue(name="trained on the released table", value=self.value, role="judged"),
                ComparedValue(name="trained on the original itself", value=self.trained_on_original),
                ComparedValue(name="always naming the largest class", value=self.largest_class),
            ),
            full=1.0,
        )


@metric(
    title="learned accuracy",
    safer="higher",
    kind="utility",
    attacker="who learns from {attributes} is right about the original less often than {limit}",
    remedy="generate the table with a larger budget, or with the target as its given column",
    paper="Dorrestijn 2018, table 4",
    axis="share of rows that are predicted",
    shows="A naive Bayes classifier learns enough from the released table to be right about the original this often.",
    hides="Anything about privacy: an exact copy scores best. Nor what other learners would make of it.",
    smallest=0,
    largest=1,
    check=require_target,
)
def learned_accuracy(
    table: FrequencyTable,
    *,
    attributes: Sequence[str],
    original: FrequencyTable,
    target: str,
    hierarchies: Hierarchies | None = None,
) -> LearnedAccuracy:
    """Return how often naive Bayes, trained on the released table, predicts the original's target.

    Predicted is the class c with the largest (n_c + 1) / (n + C) * product over the other attributes of (n_cv + 1) /
    (n_c + V), counted in the released table; C and V are how many classes and values either table has. Dorrestijn
    2018, section 4, table 4 (naive Bayes; Krimp and C4.5 classifiers are not offered). A generalized label counts for
    every value that it stands for in the column's hierarchy, for each with an equal share, and `*` for all of them; it
    is tested on the raw rows. There C and V count the values that the hierarchy lists too. A tie counts as wrong, so
    the share is never too high. Every value is a category, missing ones too: put numbers into bins first. `details` has
    the same, trained on the original it is tested on (not cross-validated, so a little too good), and the share of
    the largest class, which needs no released table. Exact fraction. Cost: distinct rows * classes * attributes.

    >>> real = FrequencyTable.from_rows(["x", "ill"], [("a", 1), ("a", 1), ("b", 0), ("b", 0), ("b", 1)])
    >>> made = FrequencyTable.from_rows(["x", "ill"], [("a", 1), ("b", 0)])
    >>> found = learned_accuracy(made, attributes=["x", "ill"], original=real, target="ill")
    >>> str(found.value), str(found.largest_class)
    ('4/5', '3/5')
    """
    if target not in attributes:
        raise ColumnError(unknown_name("target", target, attributes))
    if len(attributes) < 2:
        raise ColumnError("learned_accuracy needs at least one attribute other than its target")
    pair = compare_tables(table, original, attributes=attributes, hierarchies=hierarchies, generated=True)
    place = pair.columns.index(target)
    classes = len(pair.domains[place].leaves)
    if pair.original.table.distinct * classes > _MOST_SCORES:
        raise TooLargeError(f"{classes:,} classes of the target are too many to predict; put them into bins")
    sizes = pair.original.label_counts(place)
    shares = {
        "trained_on_original": Fraction(_right(pair, pair.original, place), original.rows),
        "largest_class": Fraction(int(sizes.max()), original.rows),
    }
    return LearnedAccuracy(
        metric="learned_accuracy",
        value=Fraction(_right(pair, pair.released, place), original.rows),
        parameters={"attributes": list(attributes), "target": target},
        rows=original.rows,
        classes=classes,
        details={**shares, "generated_rows": table.rows},
        notes=(
            f"the same learner trained on the original is right in {float(shares['trained_on_original']):.1%}, always "
            f"naming the largest class in {float(shares['largest_class']):.1%}",
        ),
    )


def _right(pair: ComparedTables, training: Side, place: int) -> int:
    """Count the original's rows whose class is predicted; only a clear best score is a prediction."""
    rows = pair.original.table
    own = [coverage.members[rows.codes[:, position]] for position, coverage in enumerate(pair.original.coverages)]
    truth, classes = own[place], len(pair.domains[place].leaves)
    sizes = training.coverages[place].spread(training.label_counts(place))
    scores = np.tile(np.log((sizes + 1) / (training.table.rows + classes)), (len(truth), 1))
    for position, values in enumerate(own):
        if position != place:
            learned = np.log((_seen(training, position, place) + 1) / (sizes + len(pair.domains[position].leaves)))
            scores += learned[values]
    of_truth = scores[np.arange(len(truth)), truth]
    scores[np.arange(len(truth)), truth] = -np.inf
    right = of_truth > scores.max(axis=1) + _TIE
    return int(rows.counts[right].sum())


def _seen(training: Side, position: int, place: int) -> Floats:
    """Return for every value and class how many rows have both; those of a label are spread evenly."""
    values, classes = training.coverages[position], training.coverages[place]
    packed, size = pack(
        [training.table.codes[:, column] for column in (position, place)], [len(values.widths), len(classes.widths)]
    )
    rows, counts = tally(packed, size, training.table.counts)
    labels, targets = (training.table.codes[rows, column].astype(np.int64) for column in (position, place))
    by_class = classes.table(labels, targets, counts, lines=len(values.widths))
    seen = np.zeros((values.leaves, classes.leaves))
    np.add.at(seen, values.members, np.repeat(by_class / values.widths[:, None], values.widths, axis=0))
    return seen
