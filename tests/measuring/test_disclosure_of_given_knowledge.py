import json
from fractions import Fraction

import pandas as pd
import polars as pl
import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, EmptyTableError, ParameterError, TooLargeError
from tests.oracles import disclosure as oracle

MEN = ["flu", "flu", "lung cancer", "lung cancer", "heart disease"]
WOMEN = ["flu", "flu", "breast cancer", "ovarian cancer", "heart disease"]
WARD = pd.DataFrame({"sex": ["m"] * 5 + ["f"] * 5, "disease": MEN + WOMEN})
ASKED = {"quasi_identifiers": ["sex"], "sensitive": "disease"}
HANNAH, CHARLIE = ("f", 2, "flu"), ("m", 2, "flu")


def test_the_implication_of_the_paper():
    found = pp.disclosure_of_given_knowledge(WARD, **ASKED, implications=[([HANNAH], [CHARLIE])])
    assert (found.value, found.person, found.people) == (Fraction(10, 19), 2, 5)
    assert (found.members, found.held) == ({"sex": "m"}, "flu")
    assert "flu" not in repr(found) + json.dumps(found.to_dict())
    assert found.to_dict(reveal=True)["held"] == "flu"


def test_without_knowledge_it_is_the_plain_posterior():
    assert pp.disclosure_of_given_knowledge(WARD, **ASKED, implications=[]).value == Fraction(2, 5)
    lung = pp.disclosure_of_given_knowledge(WARD, **ASKED, implications=[], target=("m", 1, "lung cancer"))
    assert lung.value == Fraction(2, 5)
    never = pp.disclosure_of_given_knowledge(WARD, **ASKED, implications=[], target=("m", 1, "ovarian cancer"))
    assert (never.value, never.held) == (0, "ovarian cancer")


def test_every_kind_of_data_and_every_way_to_name_a_class(tmp_path):
    engine = sa.create_engine(f"sqlite:///{tmp_path}/ward.sqlite")
    wide = WARD.assign(age=30)
    wide.to_sql("ward", engine, index=False)
    asked = {"quasi_identifiers": ["age", "sex"], "sensitive": "disease"}
    for data in (wide, pl.from_pandas(wide), pp.sql_table(engine, "ward")):
        for women, men in (((30, "f"), [30.0, "m"]), ({"sex": "f", "age": 30}, {"age": 30, "sex": "m"})):
            rules = [([(women, 2, "flu")], [(men, 2, "flu")])]
            assert pp.disclosure_of_given_knowledge(data, **asked, implications=rules).value == Fraction(10, 19)


def test_a_missing_value_is_a_value():
    frame = pd.DataFrame({"q": [None, None, None], "s": ["a", None, float("nan")]}, dtype=object)
    asked = {"quasi_identifiers": ["q"], "sensitive": "s"}
    assert pp.disclosure_of_given_knowledge(frame, **asked, implications=[]).value == Fraction(2, 3)
    rules = [([(None, 1, None)], [(None, 2, None)])]
    found = pp.disclosure_of_given_knowledge(frame, **asked, implications=rules, target=(None, 2, None))
    assert found.value == 1  # of the two people without a value, one is the second


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"implications": [([HANNAH], [])]}, ParameterError, "implication 1 has an empty side"),
        ({"implications": [([], [HANNAH])]}, ParameterError, "implication 1 has an empty side"),
        ({"implications": [HANNAH]}, ParameterError, "pair of lists"),
        ({"implications": [([HANNAH],)]}, ParameterError, "pair of lists"),
        ({"implications": [([HANNAH], [("m", 2)])]}, ParameterError, "a claim is"),
        ({"implications": [([HANNAH], [("m", 6, "flu")])]}, ParameterError, "numbered from 1 to 5"),
        ({"implications": [([HANNAH], [("m", 0, "flu")])]}, ParameterError, "numbered from 1 to 5"),
        ({"implications": [([HANNAH], [("m", True, "flu")])]}, ParameterError, "numbered from 1 to 5"),
        ({"implications": [([HANNAH], [("x", 1, "flu")])]}, ParameterError, "a class that the table does not have"),
        (
            {"implications": [([HANNAH], [("m", 1, "gout")])]},
            ParameterError,
            "a value that does not occur in the table",
        ),
        ({"implications": [([HANNAH], [(("m", 1), 1, "flu")])]}, ColumnError, "named by 1 values, not 2"),
        ({"implications": [([HANNAH], [({"zip": 1}, 1, "flu")])]}, ColumnError, "named by sex"),
        ({"implications": [], "target": ("m", 9, "flu")}, ParameterError, "the target: people"),
        ({"implications": [], "sensitive": "sex"}, ColumnError, "more than once"),
        ({"implications": [], "quasi_identifiers": ["sexx"]}, ColumnError, "did you mean 'sex'"),
    ],
)
def test_invalid_claims_raise_without_quoting_a_value(given, error, words):
    with pytest.raises(error, match=words) as caught:
        pp.disclosure_of_given_knowledge(WARD, **{**ASKED, **given})
    assert "gout" not in str(caught.value)


def test_an_empty_table_and_a_contradiction_raise():
    with pytest.raises(EmptyTableError):
        pp.disclosure_of_given_knowledge(WARD[:0], **ASKED, implications=[])
    impossible = [([("m", 1, value)], [("m", 1, "ovarian cancer")]) for value in set(MEN)]
    with pytest.raises(ParameterError, match="no table agrees"):
        pp.disclosure_of_given_knowledge(WARD, **ASKED, implications=impossible)


def test_too_many_people_to_enumerate_raise():
    crowd = pd.DataFrame({"sex": ["m"] * 40, "disease": list("abcd") * 10})
    everybody = [("m", number, "a") for number in range(1, 41)]
    with pytest.raises(TooLargeError, match="40 people"):
        pp.disclosure_of_given_knowledge(crowd, **ASKED, implications=[(everybody, [("m", 1, "b")])])
    few = [(everybody[:3], [("m", 1, "b")])]
    assert pp.disclosure_of_given_knowledge(crowd, **ASKED, implications=few, limit=64).value > Fraction(1, 4)
    with pytest.raises(TooLargeError, match="limit=63"):
        pp.disclosure_of_given_knowledge(crowd, **ASKED, implications=few, limit=63)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), min_size=1, max_size=2),
    st.data(),
)
def test_it_is_the_share_of_worlds(buckets, data):
    frame = pd.DataFrame([(n, value) for n, bucket in enumerate(buckets) for value in bucket], columns=["q", "s"])
    held = sorted({value for bucket in buckets for value in bucket})
    claims = st.integers(0, len(buckets) - 1).flatmap(
        lambda bucket: st.tuples(st.just(bucket), st.integers(1, len(buckets[bucket])), st.sampled_from(held))
    )
    sides = st.lists(claims, min_size=1, max_size=2)
    rules = data.draw(st.lists(st.tuples(sides, sides), max_size=3))
    keys = [tuple([(bucket, number - 1, value) for bucket, number, value in side] for side in rule) for rule in rules]
    asked = {"quasi_identifiers": ["q"], "sensitive": "s", "implications": rules}
    expected = oracle.disclosure_risk(buckets, keys)
    if expected is None:
        with pytest.raises(ParameterError, match="no table agrees"):
            pp.disclosure_of_given_knowledge(frame, **asked)
        return
    assert pp.disclosure_of_given_knowledge(frame, **asked).value == expected
    target = data.draw(claims)
    posterior = oracle.posterior(buckets, keys, (target[0], target[1] - 1, target[2]))
    assert pp.disclosure_of_given_knowledge(frame, **asked, target=target).value == posterior
