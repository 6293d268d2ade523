"""Repairs of the privacy score on any data: which records to add, and what that does to everybody."""

from collections.abc import Sequence
from typing import Any, Unpack

from privacy_plugin.anonymizers.repair.repair import RepairOptions, ScoreRepair, repair_score
from privacy_plugin.errors import require_columns
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.sources import open_source


def greedy_repair(data: Any, *, attributes: Sequence[str], **options: Unpack[RepairOptions]) -> ScoreRepair:
    """Lower the privacy score by adding the worst person's witness as a record, until the score is as wanted.

    Any wanted score can be reached, if `max_false_share` of false rows allows it: with the witness K as a record
    nothing follows from K any more, and nobody's score rises. `privacy_plugin.anonymizers.repair.repair` says what a
    false record has in other columns and what the repair cannot do, and its `RepairOptions` what the options are:
    weights as in `privacy_score`, wanted, measure, max_false_share, budget.

    >>> import pandas
    >>> visits = pandas.DataFrame({"zip": ["8001", "8001", "8002", "8002"], "disease": ["flu", "flu", "flu", "gout"]})
    >>> roles = {"zip": "quasi_identifier", "disease": "sensitive"}
    >>> repair = greedy_repair(visits, attributes=["zip", "disease"], roles=roles)
    >>> repair.maximum_before, repair.maximum_after, repair.false_rows
    (0.5, 0.0, 1)
    >>> repair.apply(visits).iloc[-1].to_dict()
    {'zip': '8001', 'disease': nan}
    """
    return repair_score(_grouped(data, attributes), method="witnesses", attributes=attributes, **options)


def fill_holes(
    data: Any, *, attributes: Sequence[str], max_size: int = 3, **options: Unpack[RepairOptions]
) -> ScoreRepair:
    """Lower the privacy score by filling topological holes of the table with added records.

    A hole M is a set of attributes that nobody has together although somebody has each M without one of them. A record
    with exactly M scores 0, nothing follows from any part of M any more, and nobody's score rises (White 2021,
    theorems 6.4 to 6.6). Of the holes with up to `max_size` attributes, that around the worst person's witness and most
    others' is filled first; it ends when the score is as wanted, when no hole helps the worst person, or before more
    than `max_false_share` of the rows would be false. Options as in `greedy_repair`, which gets further with fewer
    records.

    >>> import pandas
    >>> pairs = pandas.DataFrame({"a": [True, True, False], "b": [True, False, True], "c": [False, True, True]})
    >>> pairs = pairs.assign(ill=True)
    >>> singles = pandas.DataFrame({"a": [True, False, False], "b": [False, True, False], "c": [False, False, True]})
    >>> people = pandas.concat([pairs, singles.assign(ill=False)], ignore_index=True)
    >>> repair = fill_holes(people, attributes=["a", "b", "c", "ill"], danger={"a": 0, "b": 0, "c": 0})
    >>> repair.maximum_before, repair.maximum_after, repair.apply(people).iloc[-1].to_dict()
    (0.5, 0.0, {'a': True, 'b': True, 'c': True, 'ill': False})
    """
    table = _grouped(data, attributes)
    return repair_score(table, method="holes", attributes=attributes, max_size=max_size, **options)


def _grouped(data: Any, attributes: Sequence[str]) -> FrequencyTable:
    source = open_source(data)
    require_columns(list(attributes), source.columns, role="attributes")
    return source.frequencies(list(attributes))
