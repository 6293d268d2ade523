"""Tables of the itemset databases, and how well a class is learned; nothing to run here."""

from collections.abc import Callable
from typing import Any

import numpy as np
from itemset_files import Row, columns_of, find, groups_of, read_database, read_numbers, read_visits

from privacy_plugin.anonymizers.coded_rows import CodedRows
from privacy_plugin.anonymizers.synthesis.code_tree import exact_code_tree
from privacy_plugin.frequency import FrequencyTable

SEED = 1


def table_of(rows: list[Row], groups: list[list[int]]) -> FrequencyTable:
    """A column for every group of items that exclude each other; a row without any of them misses the value."""
    owner = {item: column for column, items in enumerate(groups) for item in items}
    listed = []
    for row in rows:
        values: list[int | None] = [None] * len(groups)
        for item in row:
            values[owner[item]] = item
        listed.append(tuple(values))
    return FrequencyTable.from_rows([f"c{column}" for column in range(len(groups))], listed)


def adult() -> FrequencyTable | None:
    path = find("adult.D97.N48842.C2.num")
    if path is None:
        return None
    rows = read_numbers(path)
    return table_of(rows, columns_of(rows))


def grouped_table(name: str) -> FrequencyTable | None:
    """A database whose header says which items exclude each other; the class is the last column."""
    path = find(f"{name}.db")
    return None if path is None else table_of(read_database(path), groups_of(path))


def msnbc() -> FrequencyTable | None:
    """Visits as sets of page categories, which are items or missing; frontpage has two values and is the class."""
    path = find("msnbc990928.zip")
    if path is None:
        return None
    return table_of(read_visits(path), [*([page] for page in range(2, 18)), [1, 18]])


def decoded(data: FrequencyTable, fit: Callable[[CodedRows], Any]) -> FrequencyTable:
    """Rows of a model that was fitted to the rows as they are."""
    rows = CodedRows.of(data, given=None, domains=None)
    return rows.decoded(*fit(rows).sample(rows.rows, np.random.default_rng(SEED)))


def without_noise(data: FrequencyTable) -> FrequencyTable:
    return decoded(data, exact_code_tree)


def accuracy(train: FrequencyTable, test: FrequencyTable, target: str) -> float:
    """Share of the test rows whose class a naive Bayes classifier of the training rows predicts."""
    tested = CodedRows.of(test, given=target, domains=None)
    domains = {name: test.dictionary(name) for name in test.columns}
    trained = CodedRows.of(train, given=target, domains=domains)
    planes = trained.planes()
    scores = np.tile(np.log(planes + 1.0), (len(tested.codes), 1))
    for column in range(trained.columns):
        counts = trained.ones(column)
        logarithms = np.log((counts + 1.0) / (planes[:, None] + counts.shape[1]))
        scores += logarithms[:, tested.codes[:, column]].T
    right = scores.argmax(axis=1) == tested.given_codes
    return float(tested.counts[right].sum() / tested.rows)
