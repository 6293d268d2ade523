"""Audits of generated tables as expectations."""

from typing import ClassVar, Literal

from great_expectations.compatibility.pydantic import StrictInt

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Column, Columns, Hierarchies, Number, Parameter, Population


class ExpectTableRepeatedRecordsToBeAtMost(PrivacyExpectation):
    """Expect the share of a generated table's rows that occur in the original (`population`) to be at most a limit.

    The metric is `privacy_plugin.metrics.repeated_records`, an audit: it finds copies and never proves privacy.

    >>> ExpectTableRepeatedRecordsToBeAtMost(attributes=["age", "zip"], population="visits", at_most=0.2).variant
    'repeated'
    """

    metric: ClassVar[str] = "repeated_records"

    attributes: Columns
    population: Population
    variant: Literal["repeated", "repeating_unique", "unique_repeated"] | Parameter = "repeated"
    at_most: Number = None
    below: Number = None


class ExpectTableUniqueItemsetsToBeAtMost(PrivacyExpectation):
    """Expect the share of unique itemsets of the original (`population`) in a generated table to be at most a limit.

    The metric is `privacy_plugin.metrics.unique_itemsets` over sets of up to `largest` columns, an audit: it finds
    leaks and never proves that there are none.

    >>> ExpectTableUniqueItemsetsToBeAtMost(attributes=["age", "zip"], population="visits", at_most=0.2).largest
    3
    """

    metric: ClassVar[str] = "unique_itemsets"

    attributes: Columns
    population: Population
    largest: StrictInt | Parameter = 3
    at_most: Number = None
    below: Number = None


class ExpectTableItemsetDifferenceToBeAtMost(PrivacyExpectation):
    """Expect the frequent itemsets of a generated table to differ little from those of the original (`population`).

    The metric is `privacy_plugin.metrics.itemset_difference`, a measure of utility, not of privacy.

    >>> ExpectTableItemsetDifferenceToBeAtMost(attributes=["age", "zip"], population="visits", at_most=0.05).variant
    'nfd'
    """

    metric: ClassVar[str] = "itemset_difference"

    attributes: Columns
    population: Population
    support: Number = "1/10"
    variant: Literal["nfd", "lost", "false"] | Parameter = "nfd"
    hierarchies: Hierarchies = None
    at_most: Number = None
    below: Number = None


class ExpectTableCompressionDifferenceToBeAtMost(PrivacyExpectation):
    """Expect a generated table and its original (`population`) to compress equally well with each other's code table.

    The metric is `privacy_plugin.metrics.compression_difference`, a measure of utility, not of privacy.

    >>> ExpectTableCompressionDifferenceToBeAtMost(attributes=["age"], population="visits", at_most=0.1).support
    '1/100'
    """

    metric: ClassVar[str] = "compression_difference"

    attributes: Columns
    population: Population
    support: Number = "1/100"
    at_most: Number = None
    below: Number = None


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
