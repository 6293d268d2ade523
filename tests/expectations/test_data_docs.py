"""The content of Data Docs, without values of the table."""

import html
import json
import logging
import re
from pathlib import Path
from string import Template
from typing import Any

import great_expectations as gx
import pandas as pd
import pytest
import sqlalchemy as sa
from great_expectations.expectations.row_conditions import Column

from privacy_plugin.expectations import (
    ExpectTableColumnsToMatchPolicy,
    ExpectTableKAnonymityToBeAtLeast,
    ExpectTableTClosenessToBeAtMost,
)
from privacy_plugin.expectations.checkpoint import run_suite, validate
from privacy_plugin.expectations.suite import declare_expectations
from privacy_plugin.policy.policy import Policy
from privacy_plugin.sources import sql_table
from tests.expectations.examples import POLICY, frame

ODD = "<b>a$ge</b>"


def pages(folder: Path, kind: str = "validations") -> str:
    return "\n".join(page.read_text() for page in sorted(folder.rglob(f"data_docs/local_site/{kind}/**/*.html")))


def text_of(page: str) -> str:
    """Return the visible text, without scripts and markup."""
    visible = re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(visible))


def charts(page: str) -> list[dict[str, Any]]:
    return [json.loads(spec) for spec in re.findall(r"vlSpec = (\{.*?\});\n", page)]


@pytest.fixture
def context(tmp_path: Path) -> Any:
    return gx.get_context(mode="file", project_root_dir=tmp_path)


def test_pages_have_text_tables_and_charts(context: Any, tmp_path: Path) -> None:
    outcome = validate(POLICY, frame(), context=context)
    page = pages(tmp_path)
    text = text_of(page)
    for sentence in (
        "k-anonymity over age , zip must be at least 2 .",
        "l-diversity ( variant entropy ) of disease over age , zip must be at least 2 .",
        "re-identification risk ( variant highest ) over age , zip must be at most 1/3 .",
        "Must have exactly the columns age, disease, zip",
        "Measured Number people 7 classes 3 people who do not meet the limit 0 value 2 limit at least 2",
        "people who do not meet the limit 3 value 1.89 ±",
        "Worst classes Value People 2 classes 2 2 each 1 class 3 3",
        "re-identification risk: 0.5 (1/2)",
    ):
        assert sentence in text, sentence
    for result in outcome.results:
        assert result.result["details"]["reason"] in text
    assert charts(page)[0]["data"]["values"] == [
        {"value": "2", "people": 4},
        {"value": "3", "people": 3},
    ]
    assert len(charts(page)) == 4
    targets = re.findall(r"vegaEmbed\('#([^']+)'", page)
    assert len(set(targets)) == 4
    assert all(f'id="{target}"' in page for target in targets)


def test_suite_pages_state_the_requirements(context: Any, tmp_path: Path) -> None:
    suite = POLICY.to_expectation_suite()
    suite.expectations.append(
        ExpectTableKAnonymityToBeAtLeast(quasi_identifiers=["age"], at_least={"$PARAMETER": "k"}, unit="zip")
    )
    context.suites.add(suite)
    context.build_data_docs()
    text = text_of(pages(tmp_path, "expectations"))
    assert "t-closeness of disease over age , zip must be at most 0.4 ." in text
    assert "k-anonymity over age must be at least given at run time as k , counting distinct zip ." in text


def test_inline_content_has_the_same_text() -> None:
    outcome = validate(POLICY, frame())
    outcome.results[1].render()
    (required,) = outcome.results[1].expectation_config.rendered_content
    words = Template(required.value.template).substitute(
        {name: param["value"] for name, param in required.value.params.items()}
    )
    assert words == "k-anonymity over age, zip must be at least 2."
    (found,) = outcome.results[1].rendered_content
    assert found.value.params["observed_value"]["value"] == 2


def test_pages_state_what_was_not_evaluated(context: Any, tmp_path: Path) -> None:
    suite = gx.ExpectationSuite(name="misspelt")
    suite.expectations = [ExpectTableKAnonymityToBeAtLeast(quasi_identifiers=["agee"], at_least=2)]
    assert run_suite(frame(), declare_expectations(suite), context=context).success is False
    page = pages(tmp_path)
    assert "not evaluated: unknown column in columns 'agee'; did you mean 'age'?" in text_of(page)
    assert "fa-exclamation-triangle" in page


def test_column_names_are_escaped(context: Any, tmp_path: Path) -> None:
    data = pd.DataFrame({ODD: [1, 1, 2]})
    suite = gx.ExpectationSuite(name="odd")
    suite.expectations = [
        ExpectTableKAnonymityToBeAtLeast(quasi_identifiers=[ODD], at_least=2),
        ExpectTableColumnsToMatchPolicy(columns={ODD: "quasi_identifier"}),
    ]
    assert run_suite(data, declare_expectations(suite), context=context).evaluated == 2
    page = pages(tmp_path)
    assert ODD not in page
    assert text_of(page).count(ODD) == 4


def test_a_stored_result_can_be_read_back_and_withholds_the_hierarchy(context: Any) -> None:
    ground = {"tree": {"*": {"lungs": ["asthma", "flu"], "joints": ["gout"]}}}
    suite = gx.ExpectationSuite(name="closeness")
    suite.expectations = [
        ExpectTableTClosenessToBeAtMost(
            quasi_identifiers=["age", "zip"], sensitive="disease", ground=ground, at_most=0.5
        )
    ]
    outcome = run_suite(frame(), declare_expectations(suite), context=context)
    assert outcome.success is True
    assert "gout" not in json.dumps(outcome.results[0].to_json_dict())
    read = outcome.results[0].expectation
    assert read.ground["withheld"].startswith("sha256:")
    again = gx.ExpectationSuite(name="again")
    again.expectations = [read.copy(update={"id": None})]
    assert run_suite(frame(), declare_expectations(again)).success is False


def test_a_row_condition_is_mentioned_without_its_values(context: Any, tmp_path: Path) -> None:
    """The page states that rows were excluded; the value of the condition stays in the suite."""
    suite = gx.ExpectationSuite(name="some")
    suite.expectations = [
        ExpectTableKAnonymityToBeAtLeast(
            quasi_identifiers=["age", "zip"], at_least=3, row_condition=Column("zip") == "8001"
        )
    ]
    outcome = run_suite(frame(), declare_expectations(suite), context=context)
    assert outcome.success is True
    page = pages(tmp_path)
    assert "must be at least 3 , for the rows that meet the row condition." in text_of(page)
    stored = [path.read_text() for path in tmp_path.rglob("uncommitted/validations/**/*.json")]
    outcome.results[0].render()
    for written in (page, *stored, json.dumps(outcome.results[0].to_json_dict())):
        assert "8001" not in written
    again = gx.ExpectationSuite(name="again")
    again.expectations = [outcome.results[0].expectation.copy(update={"id": None})]
    assert run_suite(frame(), declare_expectations(again)).success is False


MARKERS = ("Qxzanne", "77119933", "Zyphosis", "1903-02-01", "kxaq@example.org")
COLUMNS = ["name", "zip", "disease", "born", "mail"]
ROWS = [("ann", "8001", "flu", "1990-01-01", "a@b.c")] * 6 + [MARKERS]


@pytest.mark.parametrize("kind", ["pandas", "sqlite", "duckdb"])
def test_no_value_of_the_table_is_written_anywhere(
    kind: str, context: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Marker values in failing and erroneous runs: results, pages, logs and output must not contain them."""
    caplog.set_level(logging.DEBUG)
    hierarchy = {"tree": {"*": {"lungs": ["flu"], "rare": ["Zyphosis"]}}}
    policy = Policy.from_dict(
        {
            "dataset": "people",
            "columns": {
                "name": "identifier",
                "zip": "quasi_identifier",
                "born": "quasi_identifier",
                "mail": "quasi_identifier",
                "disease": "sensitive",
            },
            "requirements": [
                {"k_anonymity": {"at_least": 5}},
                {"l_diversity": {"at_least": 2}},
                {"t_closeness": {"at_most": 0.1}},
                {"t_closeness": {"ground": hierarchy, "at_most": 0.1}},
                {"t_closeness": {"ground": {"mask": {"length": 3}}, "at_most": 0.1}},
                {"reidentification_risk": {"at_most": 0.1}},
            ],
        }
    )
    data: Any = frame(ROWS, COLUMNS)
    if kind != "pandas":
        engine = sa.create_engine(f"{kind}://")
        data.to_sql("people", engine, index=False)
        data = sql_table(engine, sa.text("SELECT * FROM people WHERE name <> 'nobody'"))
    outcome = validate(policy, data, context=context)
    assert (outcome.success, outcome.declared, outcome.evaluated) == (False, 7, 6)
    written = [page.read_text(errors="replace") for page in tmp_path.rglob("uncommitted/**/*") if page.is_file()]
    assert sum(len(text) for text in written) > 100_000
    output = capfd.readouterr()
    texts = [*written, caplog.text, output.out, output.err, json.dumps(outcome.to_dict()), repr(outcome)]
    texts += [json.dumps(result.to_json_dict()) for result in outcome.results]
    found = {marker for marker in MARKERS for text in texts if marker in text}
    assert found == set()
