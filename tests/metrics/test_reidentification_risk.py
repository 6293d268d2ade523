import random
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.metrics.reidentification_risk import reidentification_risk
from tests.metrics.tables import QUASI_IDENTIFIERS, merge_first_two_classes, rows, table_of
from tests.oracles import class_metrics as oracle


def risk_of(given_rows, variant="highest", threshold=None):
    return reidentification_risk(
        table_of(given_rows), quasi_identifiers=QUASI_IDENTIFIERS, variant=variant, threshold=threshold
    ).value


def classes_of(*sizes):
    return FrequencyTable.from_rows(["age"], [(n,) for n in range(len(sizes))], counts=sizes)


def judged(table, **given):
    return pp.require("reidentification_risk", **given).judge(table, quasi_identifiers=["age"]).passed


def test_the_prosecutor_of_the_paper():
    """El Emam and Dankar 2008: a class of size f has the risk 1/f, and the highest of them counts."""
    table = classes_of(5, 10, 2)
    assert reidentification_risk(table, quasi_identifiers=["age"]).value == Fraction(1, 2)
    average = reidentification_risk(table, quasi_identifiers=["age"], variant="average")
    assert average.value == Fraction(3, 17)
    assert average.exact
    share = reidentification_risk(table, quasi_identifiers=["age"], variant="share_at_risk", threshold=0.2)
    assert share.value == Fraction(2, 17)  # a risk of exactly 0.2 is not above 0.2


def test_eleven_is_not_enough_for_nine_hundredths():
    assert not judged(classes_of(11, 40), at_most=0.09)
    assert judged(classes_of(12, 40), at_most=0.09)
    assert judged(classes_of(11, 40), at_most="1/11")
    assert not judged(classes_of(11, 40), below="1/11")


def test_nine_of_a_hundred_meet_nine_hundredths():
    table = classes_of(*[1] * 9, 91)
    assert judged(table, variant="share_at_risk", threshold=0.5, at_most=0.09)
    assert not judged(table, variant="share_at_risk", threshold=0.5, below=0.09)
    assert judged(classes_of(*[100 - 8], *[1] * 8), variant="average", at_most=0.09)


def test_thresholds_are_read_as_they_are_written():
    table = classes_of(10, 10)
    assert reidentification_risk(table, quasi_identifiers=["age"], variant="share_at_risk", threshold=0.1).value == 0
    for threshold, share in ((0, 1), (1, 0), ("1/10", 0), ("99/1000", 1)):
        found = reidentification_risk(table, quasi_identifiers=["age"], variant="share_at_risk", threshold=threshold)
        assert found.value == share


def test_huge_classes_stay_exact():
    large = 10**10
    assert reidentification_risk(classes_of(large, large + 1), quasi_identifiers=["age"]).value == Fraction(1, large)
    assert judged(classes_of(large), at_most=f"1/{large}")
    assert not judged(classes_of(large - 1), at_most=f"1/{large}")


def test_people_of_huge_classes_are_counted_where_they_fail():
    finding = pp.require("reidentification_risk", at_most=1e-7).judge(
        classes_of(10**7 - 1, 10**7), quasi_identifiers=["age"]
    )
    assert not finding.passed
    assert finding.people_affected == 10**7 - 1


def test_a_unique_missing_value_is_certainty():
    frame = pd.DataFrame({"age": [30, 30, None]}, index=[5, 5, 5])
    assert pp.reidentification_risk(frame, quasi_identifiers=["age"]).value == 1
    assert pp.reidentification_risk(frame, quasi_identifiers=["age"], variant="average").value == Fraction(2, 3)


def test_with_several_rows_a_person_averages_need_everybody_in_one_class():
    visits = pd.DataFrame({"city": ["Bern"] * 3 + ["Basel"] * 2, "person": [1, 1, 2, 3, 4]})
    assert pp.reidentification_risk(visits, quasi_identifiers=["city"], unit="person").value == Fraction(1, 2)
    moved = visits.assign(person=[1, 1, 2, 3, 1])
    for options in ({"variant": "average"}, {"variant": "share_at_risk", "threshold": 0.1}):
        asked = {"quasi_identifiers": ["city"], "unit": "person", **options}
        assert pp.reidentification_risk(visits, **asked).value == (1 if "threshold" in options else Fraction(1, 2))
        assert pp.reidentification_risk(moved, **asked).value == 1  # three people, three sequences
        with pytest.raises(ParameterError, match="one row per person"):
            pp.reidentification_risk(moved, **asked, count="people")


@pytest.mark.parametrize(
    "given",
    [
        {"variant": "lowest"},
        {"variant": "share_at_risk"},
        {"variant": "highest", "threshold": 0.1},
        {"variant": "share_at_risk", "threshold": 1.5},
        {"variant": "share_at_risk", "threshold": -0.1},
        {"variant": "share_at_risk", "threshold": True},
        {"variant": "share_at_risk", "threshold": float("nan")},
        {"variant": "share_at_risk", "threshold": "0.1"},
    ],
)
def test_invalid_options_raise_before_data_is_read(given):
    with pytest.raises(ParameterError):
        pp.reidentification_risk(object(), quasi_identifiers=["q"], **given)
    with pytest.raises(ParameterError):
        pp.require("reidentification_risk", at_most=0.1, **given)


@settings(deadline=None, derandomize=True)
@given(rows, st.sampled_from(["0/1", "1/5", "1/3", "1/2", "1/1"]))
def test_risks_are_the_definition(given_rows, threshold):
    assert risk_of(given_rows) == oracle.highest_risk(given_rows, [0, 1])
    assert risk_of(given_rows, "average") == oracle.average_risk(given_rows, [0, 1])
    expected = oracle.share_at_risk(given_rows, [0, 1], Fraction(threshold))
    assert risk_of(given_rows, "share_at_risk", threshold) == expected


@settings(deadline=None, derandomize=True)
@given(rows, st.randoms(use_true_random=False), st.integers(1, 4))
def test_order_does_not_matter_and_repetition_divides(given_rows, generator: random.Random, times):
    shuffled = generator.sample(given_rows, len(given_rows))
    for variant in ("highest", "average"):
        assert risk_of(shuffled * times, variant) == risk_of(given_rows, variant) / times


@settings(deadline=None, derandomize=True)
@given(rows)
def test_merging_classes_never_raises_a_risk(given_rows):
    merged = merge_first_two_classes(given_rows)
    for options in (("highest", None), ("average", None), ("share_at_risk", 0.2)):
        assert risk_of(merged, *options) <= risk_of(given_rows, *options)


def test_a_threshold_that_no_risk_exceeds_is_noted():
    everybody = pd.DataFrame({"a": range(5)})
    found = pp.reidentification_risk(everybody, quasi_identifiers=["a"], variant="share_at_risk", threshold=1)
    assert found.value == 0
    assert "counts no person" in found.notes[0]
