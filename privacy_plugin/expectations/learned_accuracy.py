"""Learned accuracy as an expectation."""

from typing import ClassVar

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Column, Columns, Hierarchies, Number, Population


class ExpectTableLearnedAccuracyToBeAtLeast(PrivacyExpectation):
    """Expect naive Bayes, trained on a released table, to reach an accuracy on the original (`population`).

    The metric is `privacy_plugin.metrics.learned_accuracy`, a measure of utility, not of privacy.

    >>> asked = {"attributes": ["age", "income"], "population": "visits", "target": "income"}
    >>> ExpectTableLearnedAccuracyToBeAtLeast(**asked, at_least=0.8).target
    'income'
    """

    metric: ClassVar[str] = "learned_accuracy"

    attributes: Columns
    population: Population
    target: Column
    hierarchies: Hierarchies = None
    at_least: Number = None
    above: Number = None
