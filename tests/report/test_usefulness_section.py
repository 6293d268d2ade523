"""The section "What is left": right numbers, no value of either table, and nothing for tables drawn at random."""

import re
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.gate.verdict import Verdict
from privacy_plugin.generalization.plan import Plan
from privacy_plugin.report import Usefulness, measure_usefulness, render_report, usefulness
from tests.report.pages import MARKERS, Page, people, policy

Compared = tuple[Verdict, Verdict, Plan, Usefulness]


@pytest.fixture(scope="module")
def rules() -> pp.Policy:
    return policy()


@pytest.fixture(scope="module")
def compared(rules: pp.Policy) -> Compared:
    return compare(people(), rules)


def compare(frame: pd.DataFrame, rules: pp.Policy) -> Compared:
    plan = pp.generalize(frame, hierarchies=rules.hierarchies, requirements=rules.requirements, **rules.anonymize)
    released = plan.apply(frame, keep=rules.rules.released)
    found = measure_usefulness(released, frame, policy=rules, plan=plan)
    assert found is not None
    return rules.judge(frame.drop(columns="person")), rules.judge(released), plan, found


def rendered(rules: pp.Policy, compared: Compared) -> str:
    before, after, plan, found = compared
    verdicts = [("as it is", before), ("anonymized", after)]
    return render_report(policy=rules, verdicts=verdicts, plan=plan, usefulness=found)


def test_it_shows_the_numbers_of_the_usability_metric(rules: pp.Policy, compared: Compared) -> None:
    _, after, plan, found = compared
    frame = people()
    columns = ["age", "place", "illness"]
    hierarchies = dict(rules.hierarchies)
    measured = pp.usability(plan.apply(frame), original=frame, columns=columns, hierarchies=hierarchies)
    text = Page(rendered(rules, compared)).text
    assert "What is left" in text
    assert f"Usability {float(measured.value):.2f}" in text
    assert f"half of the COUNT queries are wrong by more than {measured.query_error:.1%}" in text
    assert f"{float(measured.suppressed_share):.1%} of the rows" in text
    assert found.measured is not None
    assert found.measured.value == measured.value
    for name in rules.quasi_identifiers:
        assert f"{float(measured.columns[name]):.1%}" in text
    worst = max(rules.quasi_identifiers, key=lambda name: measured.columns[name])
    assert f"Lost most{worst} (" in text
    assert after.passed


def test_it_shows_classes_a_model_and_what_wishes_and_not_looking_cost() -> None:
    frame = people()
    blind = {"choose_by": "quasi_identifiers", "k": [5, 20], "useful_for": {"count": ["age"]}}
    rules = policy(anonymize={"method": "generalize_locally", **blind})
    made = anonymize(frame, policy=rules)
    found = measure_usefulness(made.made, frame, policy=rules, plan=made.plan)
    assert found is not None
    assert found.measured is not None
    assert found.learned is not None
    columns = [*rules.quasi_identifiers, *rules.sensitive]
    learned = pp.learned_accuracy(
        made.made, original=frame, attributes=columns, target=rules.sensitive[0], hierarchies=dict(rules.hierarchies)
    )
    assert found.learned.value == learned.value
    looking = pp.generalize_locally(
        frame,
        hierarchies=rules.hierarchies,
        requirements=rules.requirements,
        sensitive=rules.sensitive[0],
        useful_for={"count": ["age"]},
    )
    assert found.loss_by_looking == looking.loss
    page = render_report(
        policy=rules,
        verdicts=[("anonymized", rules.judge(made.made, plan=made.plan))],
        plan=made.plan,
        usefulness=found,
    )
    text = Page(page).text
    assert f"{float(learned.value):.1%} of the original's rows" in text
    assert f"discernibility {found.measured.details['discernibility']:,}" in text
    assert f"the loss is {made.plan.loss:.4g}" in text
    assert f"it would be {looking.loss:.4g}" in text
    assert "the mean loss is" in text  # of the wish


def test_no_value_of_either_table_is_shown(rules: pp.Policy, compared: Compared) -> None:
    html = rendered(rules, compared).lower()
    for value in (*MARKERS, "town0", "town1", "town2", "cough", "[20, 30)", "town*"):
        assert value not in html
    assert "zqmarker" not in repr(compared[3])


def test_names_of_values_change_nothing() -> None:
    """The order of the bars of a column of names must not depend on the names."""

    def drawn(names: list[str]) -> Any:
        tree = {"tree": {"group": names}}
        rules = pp.Policy.from_dict(
            {
                "dataset": "visits",
                "columns": {"place": {"role": "quasi_identifier", "hierarchy": tree}, "person": "identifier"},
                "requirements": [{"k_anonymity": {"at_least": 2}}],
            }
        )
        frame = pd.DataFrame({"place": [names[0]] * 2 + [names[1]] * 5 + [names[2]] * 3, "person": range(10)})
        found = measure_usefulness(frame, frame, policy=rules)
        assert found is not None
        return found.changes

    (change,) = drawn(["a", "b", "c"])
    assert change.before == change.after == (0.5, 0.3, 0.2)
    assert drawn(["z", "m", "a"]) == (change,)


def test_cells_are_kept_coarsened_or_lost() -> None:
    rules = policy(requirements=[{"preset": "k5"}])
    frame = people().iloc[:20]  # ages 20 to 39
    released = frame.drop(columns="person").iloc[:18].astype({"age": object})
    released.loc[released.index[:4], "age"] = "[20, 30)"
    released.loc[released.index[4:6], "age"] = "*"
    found = measure_usefulness(released, frame, policy=rules)
    assert found is not None
    age, place = found.changes
    assert (age.kept, age.coarsened, age.lost) == pytest.approx((0.6, 0.2, 0.2))  # two stars, two dropped rows
    assert (place.kept, place.coarsened, place.lost) == pytest.approx((0.9, 0.0, 0.1))
    assert (age.ordered, place.ordered) == (True, False)
    assert sum(age.before) == pytest.approx(1)
    assert sum(age.after) == pytest.approx(1)


def test_many_values_share_bars_of_equal_width() -> None:
    rules = pp.Policy.from_dict(
        {
            "dataset": "visits",
            "columns": {"age": "quasi_identifier"},
            "requirements": [{"k_anonymity": {"at_least": 2}}],
        }
    )
    frame = pd.DataFrame({"age": range(100)})
    found = measure_usefulness(frame, frame, policy=rules)
    assert found is not None
    (change,) = found.changes
    assert change.values_per_bar == 5
    assert change.before == pytest.approx((0.05,) * 20)


def test_a_table_drawn_at_random_is_not_compared_with_its_original() -> None:
    budget = {"privacy_budget": {"at_most": 1, "privacy_unit": "row"}}
    columns = {"age": {"role": "quasi_identifier", "hierarchy": {"tree": {"any": ["1", "2"]}}}}
    spending = pp.Policy.from_dict({"dataset": "visits", "columns": columns, "requirements": [budget]})
    audit = pp.Policy.from_dict(
        {"dataset": "visits", "columns": columns, "requirements": [{"repeated_records": {"at_most": 0.5}}]}
    )
    frame = pd.DataFrame({"age": ["1", "2"]})
    for rules in (spending, audit):
        assert measure_usefulness(frame, frame, policy=rules) is None
    verdict = audit.judge(frame, population=frame)
    assert "What is left" not in render_report(policy=audit, verdicts=[("made", verdict)])


def test_what_cannot_be_compared_is_stated_without_values(rules: pp.Policy, compared: Compared) -> None:
    strange = people().drop(columns="person").assign(place="zqmarkerstrange")
    found = measure_usefulness(strange, people(), policy=rules)
    assert found is not None
    assert found.measured is None
    before, after, _, _ = compared
    html = render_report(policy=rules, verdicts=[("as it is", before), ("after", after)], usefulness=found)
    assert "Usefulness could not be measured: column &#x27;place&#x27;" in html
    assert "zqmarkerstrange" not in html


@pytest.mark.parametrize(
    ("stars", "head", "look"),
    [
        (["age"], "1 of 2 quasi-identifiers is wiped out.", "callout"),
        (["age", "place"], "Every quasi-identifier is wiped out.", "callout lost"),
    ],
)
def test_wiped_out_columns_are_warned_of_before_the_verdict(stars: list[str], head: str, look: str) -> None:
    rules = policy(requirements=[{"k_anonymity": {"at_least": 2}}])
    frame = people().iloc[:60].drop(columns="person").assign(**dict.fromkeys(stars, "*"))
    page = Page(render_report(policy=rules, verdicts=[("after", rules.judge(frame))]))
    assert page.text.index(head) < page.text.index("the gate is")
    alerts = [attributes for _, attributes in page.tags if attributes.get("role") == "alert"]
    assert [attributes["class"] for attributes in alerts] == [look]
    assert page.text[: page.text.index("the gate is")].count("it carries no information") == len(stars)
    kept = rules.judge(people().iloc[:60].drop(columns="person").assign(age="1"))
    assert "wiped out" not in Page(render_report(policy=rules, verdicts=[("after", kept)])).text


def test_a_curve_is_computed_for_a_plan_without_one(
    rules: pp.Policy, compared: Compared, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after, plan, _ = compared
    frame = people()
    bare = replace(plan, trade_off=(), lattice=())
    released = plan.apply(frame, keep=rules.rules.released)
    computed = measure_usefulness(released, frame, policy=rules, plan=bare)
    assert computed is not None
    assert {point.k: point.loss for point in computed.trade_off}[5] == pytest.approx(plan.loss)
    assert "Line chart: least loss for every k." in rendered(rules, (before, after, bare, computed))
    monkeypatch.setattr(usefulness, "affordable_trade_off", lambda *_, **__: ())
    none = measure_usefulness(released, frame, policy=rules, plan=bare)
    assert none is not None
    text = Page(rendered(rules, (before, after, bare, none))).text
    assert "The curve of loss against k was left out: computing it was estimated to take more than 5 seconds." in text
    without = Page(render_report(policy=rules, verdicts=[("after", after)], plan=bare)).text
    assert "The curve of loss against k was left out: it needs the table before anonymization." in without


def test_a_local_plan_is_drawn_on_the_axes_of_the_full_domain_curve() -> None:
    rules = policy(requirements=[{"preset": "k5"}])
    frame = people().iloc[:60]
    local = pp.generalize_locally(frame, hierarchies=rules.hierarchies, requirements=rules.requirements)
    released = local.apply(frame, keep=rules.rules.released)
    found = measure_usefulness(released, frame, policy=rules, plan=local)
    assert found is not None
    losses = {point.k: point.loss for point in found.trade_off}
    assert losses[5] is not None
    assert local.loss <= losses[5]
    page = render_report(policy=rules, verdicts=[("after", rules.judge(released))], plan=local, usefulness=found)
    assert f"This release: k 5, loss {local.loss:.4g}." in page
    diamond = re.search(r'<polygon points="[\d.]+,([\d.]+) [^"]*" fill="var\(--text\)"', page)
    line = re.search(r'<polyline points="([^"]*)"', page)
    assert diamond
    assert line
    heights = [float(place.split(",")[1]) for place in line[1].split()]
    shares = (180 - float(diamond[1])) / (180 - heights[list(losses).index(5)])  # both measured from the axis
    assert shares == pytest.approx(local.loss / losses[5], abs=0.01)
