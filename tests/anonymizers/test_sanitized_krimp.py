"""The code table as a release: its rows cover exactly the drawn rows, and a support that is too low is raised."""

import math
from typing import Any

import numpy as np
import pytest

from privacy_plugin.anonymizers.itemsets import sanitized_krimp as module
from privacy_plugin.anonymizers.randomized_response import randomize_cells
from privacy_plugin.errors import TooLargeError
from privacy_plugin.frequency import FrequencyTable

PEOPLE = [("f", "no", "a"), ("m", "yes", "b"), ("f", "no", "b"), ("f", "no", "c")] * 30


def drawn() -> Any:
    table = FrequencyTable.from_rows(["sex", "smokes", "ward"], PEOPLE)
    return randomize_cells(table, epsilon=3, generator=np.random.default_rng(5))


def test_the_code_table_covers_every_cell_of_the_drawn_rows_once() -> None:
    rows = drawn()
    found = module.sanitized_krimp(rows, support="1/20")
    table = found.frequencies
    lines = [
        dict(
            zip(
                table.columns,
                (table.dictionary(name)[table.column_codes(name)[row]] for name in table.columns),
                strict=True,
            )
        )
        for row in range(table.distinct)
    ]
    assert sum(line["size"] * line["usage"] for line in lines) == 3 * rows.frequencies.rows
    everything = sum(line["usage"] for line in lines)
    for line in lines:
        assert line["code_length"] == pytest.approx(-math.log2(line["usage"] / everything), abs=0.001)
        assert line["size"] == line["itemset"].count("=")
    assert any(line["size"] > 1 for line in lines)


def test_a_support_that_is_too_low_is_doubled_because_the_draw_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    real = module.sanitized_krimp

    def limited(rows: Any, *, support: Any) -> Any:
        if support < 0.09:
            raise TooLargeError("too many itemsets")
        return real(rows, support=support)

    monkeypatch.setattr(module, "sanitized_krimp", limited)
    found = module._code_table(drawn(), "1/40")
    assert found.notes == ("too many itemsets have the support that was asked for; those with 0.1 were used",)
