import re
from xml.etree import ElementTree

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.report import render_report
from privacy_plugin.report.curves import band_chart, curve_chart

MEN = ["influenza", "influenza", "lung cancer", "lung cancer", "heart disease"]
WOMEN = ["influenza", "influenza", "breast cancer", "ovarian cancer", "heart disease"]
WARD = pd.DataFrame({"sex": ["male"] * 5 + ["female"] * 5, "disease": MEN + WOMEN})


def page(**line):
    policy = pp.Policy.from_dict(
        {
            "dataset": "ward",
            "columns": {"sex": "quasi_identifier", "disease": "sensitive"},
            "requirements": [{"maximum_disclosure": line}],
        }
    )
    return render_report(policy=policy, verdicts=[("candidate", policy.judge(WARD))])


@pytest.mark.parametrize("attacker", ["implications", "negations"])
def test_both_attackers_curves_and_the_worst_knowledge_are_shown_without_a_value_of_the_table(attacker):
    shown = page(knowledge=2, attacker=attacker, below=0.7)
    for words in (
        "Line chart: maximum disclosure by the number of facts that an attacker knows: implications 0.4 to 1, "
        "negations only 0.4 to 1.",
        "The worst such attacker.",
        f"An attacker who knows these 2 {attacker} names disease of person 1 of class 1, a class of 5 people, with "
        "probability 1: the most frequent value of the class.",
        "person 1 of class 1 does not have any of the 2nd to 3rd most frequent values of the class",
        "highest probability of naming disease in the class",
    ):
        assert words in shown
    rows = re.findall(r'<th scope="row">([012])</th><td>([^<]*)</td><td>([^<]*)</td>', shown)
    assert {("0", "0.4", "0.4"), ("1", "0.6667", "0.6667"), ("2", "1", "1")} <= set(rows)
    for value in {*MEN, *WOMEN, "female"}:
        assert value not in shown


def test_classes_are_shown_by_how_uneven_they_are():
    """Both classes of the ward have an entropy of about 1.05 and 1.33; no value of the table is needed to show it."""
    shown = page(knowledge=1, below=0.7)
    assert "The most uneven class has an entropy of 1.05 (natural logarithm)." in shown
    assert re.findall(
        r'<th scope="row">([\d.]+ to [\d.]+)</th><td>(\d+)</td><td>(\d+)</td><td>([\d.]+)</td>', shown
    ) == [
        ("0.93 to 1.1", "1", "5", "0.6667"),
        ("1.2 to 1.3", "1", "5", "0.5714"),
    ]
    assert "Bands of entropy and the highest disclosure of the classes in each: 0.93 to 1.1: 0.6667" in shown


def test_no_curve_is_drawn_without_knowledge():
    shown = page(knowledge=0, below=0.7)
    assert "An attacker who knows nothing more names disease" in shown
    assert "Line chart" not in shown
    assert "What they would have to know" not in shown


@pytest.mark.parametrize(("facts", "limit"), [(1, 0.5), (12, 1.0), (12, 0.0), (200, 0.99)])
def test_the_drawing_stays_inside_its_box(facts, limit):
    rising = [number / facts for number in range(facts + 1)]
    drawn = ElementTree.fromstring(
        curve_chart({"one": rising, "two": rising[::-1]}, limit=limit, label="below", description="d")
    )
    assert drawn.get("aria-label") == "d"
    _, _, width, height = (float(number) for number in drawn.get("viewBox").split())
    for point in drawn.iter("polyline"):
        for pair in point.get("points").split():
            x, y = map(float, pair.split(","))
            assert 0 <= x <= width
            assert 0 <= y <= height
    texts = list(drawn.iter("text"))
    assert all(0 < float(text.get("y")) < height for text in texts)
    assert len(texts) < 30
    ends = [line.get("points").split() for line in drawn.iter("polyline")]
    assert ends[0][0].split(",")[1] == ends[1][-1].split(",")[1]  # the one starts as low as the other ends


def test_bands_stay_inside_the_box():
    drawn = ElementTree.fromstring(
        band_chart([(0.0, 0.1, 1.0), (0.9, 1.0, 0.0)], limit=0.5, label="below", description="d")
    )
    ends = [float(line.get(name)) for line in drawn.iter("line") for name in ("x1", "x2")]
    assert min(ends) >= 42
    assert max(ends) <= 428
