"""Results show themselves in a notebook without a value of the table; the notebook of the documents runs."""

from pathlib import Path

import nbformat
import pandas as pd
from nbclient import NotebookClient

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.anonymizers.registry import ANONYMIZERS
from privacy_plugin.description import Described, Description
from tests.anonymizer_results import result_of

NOTEBOOK = Path(__file__).parent.parent / "docs" / "notebook.ipynb"
SECRET = "hepatitis"
TABLE = pd.DataFrame({"age": [30, 30, 41, 41], "illness": [SECRET, "flu", SECRET, "cold"]})
POLICY = pp.Policy.from_dict(
    {
        "dataset": "visits",
        "columns": {"age": "quasi_identifier", "illness": "sensitive"},
        "requirements": [{"k_anonymity": {"at_least": 3}}, {"l_diversity": {"variant": "distinct", "at_least": 2}}],
    }
)


def test_verdicts_findings_and_measurements_are_tables_without_values() -> None:
    verdict = POLICY.judge(TABLE)
    shown = [verdict, *verdict.findings, *(finding.measurement for finding in verdict.findings)]
    for result in shown:
        html = result._repr_html_()  # type: ignore[union-attr]
        assert "<table>" in html
        assert SECRET not in html
    assert "the gate is closed" in verdict._repr_html_()
    assert "k_anonymity at least 3" in verdict._repr_html_()


def test_plans_are_tables_without_values() -> None:
    asked = {"hierarchies": {"age": pp.interval_hierarchy(start=0, stop=100, widths=[50])}}
    requirements = [pp.require("k_anonymity", at_least=4)]
    for plan in (
        pp.generalize(TABLE, **asked, requirements=requirements),
        pp.generalize_locally(TABLE, **asked, requirements=requirements),
    ):
        html = plan._repr_html_()
        assert "age" in html
        assert SECRET not in html


def test_the_texts_that_a_notebook_saves_with_its_page_have_no_values() -> None:
    """Jupyter writes the text of a result into the file next to its HTML."""
    column = {"role": "quasi_identifier", "hierarchy": {"intervals": {"start": 0, "stop": 100, "widths": [50]}}}
    policy = pp.Policy.from_dict(
        {
            "dataset": "visits",
            "columns": {"age": column, "illness": "sensitive"},
            "requirements": [
                {"k_anonymity": {"at_least": 4}},
                {"maximum_disclosure": {"knowledge": 0, "at_most": 0.6, "weights": {SECRET: 1, "otherwise": 0.5}}},
            ],
            "anonymize": {"method": "generalize"},
        }
    )
    made = anonymize(TABLE, policy=policy)
    verdict = policy.judge(made.made)
    assert verdict.passed
    for result in (made, made.plan, verdict, *verdict.findings):
        assert SECRET not in repr(result)
        assert SECRET not in str(result)


def test_what_every_method_makes_is_shown() -> None:
    assert all(issubclass(result_of(method), Described) for method in ANONYMIZERS.values())


def test_names_cannot_inject_markup() -> None:
    described = Description(title="<script>", rows=(("<b>", "1 < 2"),), notes=("<i>",))
    html = described._repr_html_()
    assert "<script>" not in html
    assert "&lt;b&gt;" in html
    assert "<i>" not in html


def test_the_notebook_of_the_documents_runs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = [output["data"] for cell in notebook.cells for output in cell.get("outputs", ()) if "data" in output]
    assert len(shown) == 5
    assert all("text/html" in data for data in shown)
    assert "the gate is closed" in shown[1]["text/html"]
    assert "the gate is open" in shown[3]["text/html"]
