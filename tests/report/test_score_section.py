"""The privacy score's part of the report: numbers and names of columns, small tables as a picture, no value."""

from itertools import combinations
from xml.etree import ElementTree

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.metrics.privacy_score.dowker_complex import dowker_complex
from privacy_plugin.report import render_report
from privacy_plugin.report.scores import complex_picture
from tests.oracles import score as oracle
from tests.report.pages import Page

SECRETS = ["zqmarkerflu", "zqmarkergout"]
WARD = pd.DataFrame(
    {
        "place <b>": ["zqmarkerbern", "zqmarkerbern", "zqmarkerbasel", "zqmarkerbasel"] * 2,
        "illness": [SECRETS[0], SECRETS[0], *SECRETS] * 2,
    }
)


def letters(*people):
    names = sorted(set("".join(people)))
    frame = pd.DataFrame([{name: name in person for name in names} for person in people])
    return pp.privacy_score(frame, attributes=names)


def page(*lines, frame=WARD):
    policy = pp.Policy.from_dict(
        {
            "dataset": "ward",
            "columns": {"place <b>": "quasi_identifier", "illness": "sensitive"},
            "requirements": [{"privacy_score": line} for line in lines],
        }
    )
    return render_report(policy=policy, verdicts=[("candidate", policy.judge(frame))])


def test_it_shows_the_spread_the_combinations_and_the_picture_without_a_value_of_the_table():
    html = page({"below": 0.1})
    shown = Page(html)
    assert "The average score is 0.25, the highest 0.5." in shown.text
    names = [str(tag["aria-label"]) for tag in shown.named("svg") if tag.get("role") == "img"]
    assert names == [
        "Bar chart: people by privacy score from 0 to 1. average 0.25.",
        "Picture of the Dowker complex: 4 attributes, 3 maximal faces, 2 smallest free faces, 1 holes.",
    ]
    assert "The most revealing combinations" in shown.text
    assert "place <b> #1" in shown.text
    assert "zqmarker" not in html.lower()
    assert not shown.named("b")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"statistic": "threshold_share", "threshold": 0.5, "below": 0.2}, "4 people score 0.5 or more"),
        ({"statistic": "threshold_count", "threshold": 0.5, "at_most": 3}, "4 people score 0.5 or more"),
        ({"statistic": "maximum", "at_most": 0.5}, "8 people meet it, 0 do not"),
        ({"statistic": "average", "below": 0.9}, "average 0.25"),
    ],
)
def test_every_statistic_has_its_chart(line, words):
    shown = Page(page(line))
    described = [str(tag["aria-label"]) for tag in shown.named("svg") if "Bar chart" in str(tag.get("aria-label"))]
    assert len(described) == 1
    assert words in described[0]


def test_a_table_without_inferences_is_reported_and_a_large_one_is_not_drawn():
    safe = pd.DataFrame({"place <b>": ["Bern"] * 4, "illness": ["flu", "gout"] * 2})
    assert "Nothing that is dangerous follows" in Page(page({"below": 0.1}, frame=safe)).text
    large = pd.DataFrame({"place <b>": range(60), "illness": ["flu", "gout"] * 30})
    assert "Dowker" not in page({"below": 0.1}, frame=large)


def test_an_interval_is_reported_as_one():
    text = Page(page({"below": 0.1, "budget": 1, "likelihood": {"place <b>": 0.5}}, frame=wide())).text
    assert "cut short by its budget" in text
    assert "the upper end is compared with the limit" in text


def wide():
    return pd.DataFrame({"place <b>": [n % 37 for n in range(200)], "illness": [str(n % 29) for n in range(200)]})


def test_free_faces_of_example_2_23():
    """Maximal faces ab and acd: of all faces only a is in both; the smallest free ones are b, c and d."""
    drawn = dowker_complex(letters("ab", "acd"))
    assert [drawn.name(face) for face in drawn.maximal] == ["a, b", "a, c, d"]
    assert [drawn.name(face) for face in drawn.free_faces] == ["b", "c", "d"]
    assert [drawn.name(face) for face in drawn.holes] == ["b, c", "b, d"]
    assert [drawn.name(face) for face in drawn.inferring] == ["nothing"]  # everybody has a


def test_the_ring_of_example_6_3():
    drawn = dowker_complex(letters("ABD", "BCF", "ACE"))
    assert "A, B, C" in [drawn.name(face) for face in drawn.holes]
    assert {"A, B", "B, C", "A, C"} <= {drawn.name(face) for face in drawn.free_faces}


def test_lemma_2_25_needs_people_who_are_not_inside_each_other():
    """Free faces give their maximal face away, unless a person has no more than them (example 2.24)."""
    alone = dowker_complex(letters("abc", "d"))
    assert [alone.name(face) for face in alone.free_faces] == ["a", "b", "c"]
    assert alone.inferring == alone.free_faces
    inside = dowker_complex(letters("abc", "ab", "a", "b", "d"))
    assert [inside.name(face) for face in inside.free_faces] == ["a", "b", "c"]
    assert [inside.name(face) for face in inside.inferring] == ["c"]


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.lists(st.frozensets(st.sampled_from("abcde"), min_size=1), min_size=1, max_size=6))
def test_the_complex_follows_its_definitions(people):
    frame = pd.DataFrame([{name: name in person for name in "abcde"} for person in people])
    drawn = dowker_complex(pp.privacy_score(frame, attributes=list("abcde")))
    sets = [frozenset(person) for person in people]
    names = dict(enumerate(drawn.vertices))
    tops = {person for person in sets if not any(person < other for other in sets)}
    assert {frozenset(names[v] for v in face) for face in drawn.maximal} == tops
    faces = [frozenset(face) for size in range(6) for face in combinations(drawn.vertices, size)]
    free = {face for face in faces if sum(face <= top for top in tops) == 1 and face not in tops}
    smallest = {face for face in free if not any(other < face for other in free)}
    assert {frozenset(names[v] for v in face) for face in drawn.free_faces} == smallest
    numbers = {name: index for index, name in names.items()}
    held = [frozenset(numbers[name] for name in person) for person in sets]
    assert {frozenset(face) for face in drawn.holes} == oracle.minimal_non_faces(held, len(names), 4)


@pytest.mark.parametrize("people", [("a",), ("abcdefghijkl",), ("ab", "bc", "ca"), ("abcdef", "ghijkl", "agl")])
def test_the_picture_stays_inside_its_box(people):
    figure = ElementTree.fromstring(complex_picture(dowker_complex(letters(*people))))
    drawn = figure.find("svg")
    _, _, width, height = (float(number) for number in drawn.get("viewBox").split())
    points = [
        tuple(map(float, pair.split(","))) for shape in drawn.iter("polygon") for pair in shape.get("points").split()
    ]
    points += [(float(text.get("x")), float(text.get("y"))) for text in drawn.iter("text")]
    points += [(float(dot.get("cx")), float(dot.get("cy"))) for dot in drawn.iter("circle")]
    assert all(0 < x < width and 0 < y < height for x, y in points)
    assert len(list(drawn.iter("circle"))) == len(set("".join(people)))


def test_more_attributes_than_a_picture_can_show_are_not_drawn():
    assert dowker_complex(letters("abcdefghijklm")) is None
