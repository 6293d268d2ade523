"""The report: everything a person needs, nothing from the network, no value of the table."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.errors import ParameterError
from privacy_plugin.gate.certificate import Certificate
from privacy_plugin.gate.verdict import Verdict
from privacy_plugin.generalization.plan import Plan
from privacy_plugin.markup import element
from privacy_plugin.metrics import registry
from privacy_plugin.metrics.measurement import Measurement
from privacy_plugin.report import findings as findings_section
from privacy_plugin.report import render_report, write_report
from tests.certificates import KEYS
from tests.report.pages import MARKERS, Page, judged, people, policy

Judged = tuple[Verdict, Verdict, Plan, Certificate]


@pytest.fixture(scope="module")
def rules() -> pp.Policy:
    return policy()


@pytest.fixture(scope="module")
def found(rules: pp.Policy) -> Judged:
    return judged(rules)


@pytest.fixture(scope="module")
def html(rules: pp.Policy, found: Judged) -> str:
    before, after, plan, certificate = found
    return render_report(
        policy=rules, verdicts=[("as it is", before), ("anonymized", after)], plan=plan, certificate=certificate
    )


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_nothing_comes_from_elsewhere(html: str, page: Page) -> None:
    assert not page.named("script")
    assert not page.named("link")
    assert not page.named("img")
    references = [
        value
        for _, attributes in page.tags
        for name, value in attributes.items()
        if name in ("src", "href", "xlink:href")
    ]
    assert references == ["#main"]
    assert "http://" not in html
    assert "https://" not in html
    assert "@import" not in page.css
    assert "url(" not in page.css
    policies = [tag["content"] for tag in page.named("meta") if tag.get("http-equiv") == "Content-Security-Policy"]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_no_value_of_the_table_is_shown(html: str) -> None:
    frame = people()
    for marker in MARKERS:
        assert frame.isin([marker]).any().any()
        assert marker not in html.lower()
    assert "cough" not in html


def test_names_cannot_break_out(html: str, page: Page) -> None:
    assert "<visits>" not in html
    assert "ward <visits> & more" in page.text
    assert "note <b>" in page.text
    assert not page.named("b")


def test_requirements_that_fail_for_different_people_count_at_least_the_largest_group() -> None:
    """Four people are too few, ten others all have one value: fourteen are concerned, and ten is the least of it."""
    rows = [(30, "flu"), (30, "cold")] * 2 + [(50, "flu")] * 10 + [(70, "flu"), (70, "cold")] * 5
    rules = pp.Policy.from_dict(
        {
            "dataset": "visits",
            "columns": {"age": "quasi_identifier", "illness": "sensitive"},
            "requirements": [{"k_anonymity": {"at_least": 5}}, {"l_diversity": {"at_least": 2}}],
        }
    )
    verdict = rules.judge(pd.DataFrame(rows, columns=["age", "illness"]))
    assert [finding.people_affected for finding in verdict.findings] == [4, 10]
    shown = Page(render_report(policy=rules, verdicts=[("visits", verdict)])).text
    assert "at least 10 of 24 people are not protected as the policy asks" in shown


def test_the_banner_shows_the_last_verdict(rules: pp.Policy, found: Judged, page: Page) -> None:
    assert page.classes("banner") == ["div"]
    assert "Passed: the gate is open" in page.text
    red = Page(render_report(policy=rules, verdicts=[("as it is", found[0])]))
    assert "Failed: the gate is closed" in red.text
    assert "the gate is open" not in red.text
    assert any(attributes.get("class") == "banner failed" for _, attributes in red.tags)


@pytest.mark.parametrize(
    ("requirements", "people", "sentence"),
    [
        ({"k": 2}, 4, "4 rows meet the policy's only requirement."),
        ({"k": 5}, 4, "the policy's only requirement is not met."),
        ({"k": 2, "risk": "1/2"}, 4, "4 rows meet all 2 requirements of the policy."),
        ({"k": 5, "risk": "1/2"}, 4, "1 of 2 requirements is not met."),
        ({"k": 5, "risk": "1/5"}, 4, "2 of 2 requirements are not met."),
        ({"k": 1}, 1, "1 row meets the policy's only requirement."),
    ],
)
def test_the_banner_counts_in_plain_words(requirements: dict[str, object], people: int, sentence: str) -> None:
    lines: list[dict[str, object]] = [{"k_anonymity": {"at_least": requirements["k"]}}]
    if "risk" in requirements:
        lines.append({"reidentification_risk": {"at_most": requirements["risk"]}})
    rules = pp.Policy.from_dict({"dataset": "visits", "columns": {"age": "quasi_identifier"}, "requirements": lines})
    verdict = rules.judge(pd.DataFrame({"age": [30] * people}))
    assert sentence in Page(render_report(policy=rules, verdicts=[("visits", verdict)])).text


def test_findings_say_what_to_do(found: Judged, page: Page) -> None:
    first = found[0].findings[0]
    assert first.people_affected
    assert f"{first.people_affected:,} of 61" in page.text
    assert "who knows age, place of such a person finds their row among fewer than 5 candidates" in page.text
    assert "generalize a quasi-identifier one level further" in page.text
    assert "El Emam and Dankar" in page.text  # the source of the preset


def test_every_spread_has_a_chart_that_can_be_heard(found: Judged, page: Page) -> None:
    spreads = [
        finding
        for verdict in found[:2]
        for finding in verdict.findings
        if finding.measurement and finding.measurement.spread is not None
    ]
    images = [attributes for attributes in page.named("svg") if attributes.get("role") == "img"]
    charts = [attributes for attributes in images if str(attributes["aria-label"]).startswith("Bar chart")]
    assert len(charts) == len(spreads) == 6
    for finding, chart in zip(_by_requirement(found), charts, strict=True):
        rows, affected = finding.measurement.rows, finding.people_affected or 0
        assert f"{rows - affected:,} people meet it, {affected:,} do not" in str(chart["aria-label"])


def _by_requirement(found: Judged) -> list:  # type: ignore[type-arg]
    pairs = zip(found[0].findings, found[1].findings, strict=True)
    return [finding for pair in pairs for finding in pair if finding.measurement.spread is not None]


def test_what_was_judged_is_identified(rules: pp.Policy, found: Judged, page: Page) -> None:
    after, certificate = found[1], found[3]
    assert rules.digest in page.text
    assert after.fingerprint is not None
    assert after.fingerprint.digest in page.text
    assert certificate.signature in page.text
    assert after.judged_at in page.text
    assert f"privacy-plugin {pp.__version__}" in page.text
    for name in rules.roles:
        assert name in page.text


def test_the_plan_is_shown_by_rule(found: Judged, page: Page) -> None:
    plan = found[2]
    assert f"{plan.suppressed:,} of {plan.rows:,} rows" in page.text
    assert f"{plan.levels['age']} of 3" in page.text


def test_limitations_of_the_verdict_are_stated(page: Page) -> None:
    assert "What this does and does not show" in page.text
    assert "a class in which everybody has the same diagnosis is k-anonymous" in page.text
    assert "not legal advice" in page.text


def test_a_gate_that_closed_before_measuring_gives_its_reason(rules: pp.Policy) -> None:
    shut = Page(render_report(policy=rules, verdicts=[("raw", rules.judge(people()))]))
    assert "identifier column 'person' is still in the table" in shut.text
    assert "not evaluated" in shut.text
    assert "not counted" in shut.text
    assert not [tag for tag in shut.named("svg") if tag.get("role") == "img"]


def test_a_requirement_that_could_not_be_measured_gives_its_reason() -> None:
    columns = {"person": "unit", "age": "quasi_identifier", "illness": "sensitive"}
    rules = policy(columns=columns, requirements=[{"k_map": {"at_least": 2}}])  # there is no population
    verdict = rules.judge(people()[["person", "age", "illness"]])
    shown = Page(render_report(policy=rules, verdicts=[("visits", verdict)]))
    assert "not everything could be checked" in shown.text
    assert "k_map needs the population" in shown.text
    assert "a person, found by the column 'person'" in shown.text


def test_a_sensitive_column_without_a_limit_is_named() -> None:
    columns = {"age": "quasi_identifier", "place": "sensitive", "illness": "sensitive"}
    rules = policy(columns=columns, requirements=[{"l_diversity": {"at_least": 1, "sensitive": "illness"}}])
    verdict = rules.judge(people()[["age", "place", "illness"]])
    assert (
        "No requirement limits what is learned about: place."
        in Page(render_report(policy=rules, verdicts=[("visits", verdict)])).text
    )


def test_a_metric_declares_its_axis_its_limitations_and_a_picture(
    rules: pp.Policy, found: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = registry.find_metric("k_anonymity")
    own = replace(declared, axis="size of {unit}", shows="shown here", hides="hidden here", picture="own")
    monkeypatch.setitem(registry._METRICS, "k_anonymity", own)
    picture = {"own": lambda finding: element("p", f"own picture of {finding.requirement.metric}")}
    monkeypatch.setattr(findings_section, "PICTURES", picture)
    text = Page(render_report(policy=rules, verdicts=[("as it is", found[0])])).text
    for words in ("own picture of k_anonymity", "size of None", "shown here", "hidden here"):
        assert words in text


def test_a_metric_that_declares_no_words_is_described_by_its_title_and_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_METRICS", {})

    def plain_metric(table: object) -> Measurement:
        raise NotImplementedError  # only its declaration is looked at

    registry.metric(title="plain", safer="lower", attacker="a", remedy="r", paper="Doe 2026")(plain_metric)
    declared = registry.find_metric("plain_metric")
    assert declared.shows == "The table meets the limit on plain as defined by Doe 2026."
    assert declared.axis_of({}) == "plain"
    assert declared.picture is None


def test_every_metric_declares_what_a_pass_shows_and_hides() -> None:
    for name, declared in registry.metrics().items():
        assert "as defined by" not in declared.shows, f"{name} declares no shows="
        assert "than it assumes" not in declared.hides, f"{name} declares no hides="


def test_every_picture_that_a_metric_declares_can_be_drawn() -> None:
    declared = {metric.picture for metric in registry.metrics().values()} - {None}
    assert declared == set(findings_section.PICTURES)


def test_verdicts_of_another_policy_are_refused(rules: pp.Policy, found: Judged) -> None:
    other = policy(dataset="another")
    with pytest.raises(ParameterError, match="under another policy"):
        render_report(policy=other, verdicts=[("as it is", found[0])])
    with pytest.raises(ParameterError, match="at least one verdict"):
        render_report(policy=rules, verdicts=[])
    foreign = replace(found[3], payload=found[3].payload.replace(rules.digest.encode(), b"0"))
    with pytest.raises(ParameterError, match="certificate was issued under another policy"):
        render_report(policy=rules, verdicts=[("as it is", found[0])], certificate=foreign)


def test_a_refusal_does_not_certify_a_release(rules: pp.Policy, found: Judged) -> None:
    from privacy_plugin.gate.certificate import issue

    refusal = issue(found[0], keys=KEYS)
    text = Page(render_report(policy=rules, verdicts=[("as it is", found[0])], certificate=refusal)).text
    assert "refused: nothing may be released" in text


def test_a_file_is_written_whole_or_not_at_all(rules: pp.Policy, found: Judged, tmp_path: Path) -> None:
    path = write_report(tmp_path / "new" / "report.html", policy=rules, verdicts=[("as it is", found[0])])
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    blocked = tmp_path / "folder"
    blocked.mkdir()
    with pytest.raises(ParameterError, match="cannot write the report"):
        write_report(blocked, policy=rules, verdicts=[("as it is", found[0])])
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["folder", "new"]


def test_the_certificate_shows_all_that_a_release_looks_at_again() -> None:
    from privacy_plugin.gate.certificate import issue

    columns = {"name": "unit", "age": "quasi_identifier"}
    everybody = pd.DataFrame({"name": ["a", "b"], "age": [30, 30]})
    by_people = pp.Policy.from_dict(
        {"dataset": "d", "columns": columns, "requirements": [{"k_anonymity": {"at_least": 2}}]}
    )
    compared = pp.Policy.from_dict(
        {"dataset": "d", "columns": {"age": "quasi_identifier"}, "requirements": [{"k_map": {"at_least": 2}}]}
    )
    whose = by_people.judge(everybody, fingerprint=True)
    among = compared.judge(everybody[["age"]], population=pd.concat([everybody] * 2), fingerprint=True)
    for asked, verdict, name, looked_at in (
        (by_people, whose, "people_fingerprint", whose.people_fingerprint),
        (compared, among, "population_fingerprint", among.population_fingerprint),
    ):
        certificate = issue(verdict, keys=KEYS)
        page = Page(render_report(policy=asked, verdicts=[("judged", verdict)], certificate=certificate))
        assert certificate.content[name]["digest"] in page.text
        assert looked_at is not None
        assert looked_at.digest not in page.text


def test_the_digest_of_rows_that_are_not_released_is_not_shown() -> None:
    lines = {"dataset": "d", "columns": {"age": "quasi_identifier"}, "requirements": [{"k_anonymity": {"at_least": 2}}]}
    alone = pp.Policy.from_dict(lines)
    refused = alone.judge(pd.DataFrame({"age": [30]}), fingerprint=True)
    assert refused.fingerprint is not None
    page = Page(render_report(policy=alone, verdicts=[("as it is", refused)]))
    assert refused.fingerprint.digest not in page.text
