"""The public names, called as documented on a pandas frame, and what importing the package loads."""

import ast
import inspect
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
import sqlalchemy as sa

import privacy_plugin as pp
from privacy_plugin import errors
from privacy_plugin.metrics.registry import metrics

HEAVY = (
    "pandas",
    "numpy",
    "great_expectations",
    "dagster",
    "pyspark",
    "sklearn",
    "numba",
    "polars",
    "duckdb",
    "pyarrow",
)
QI = ["age", "zip"]

# Import the second module as if the first package were not installed.
WITHOUT_A_PACKAGE = """
import importlib, sys
package, module = sys.argv[1:]
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
importlib.import_module(module)
"""


@pytest.fixture
def data():
    return pd.DataFrame(
        {
            "age": [23, 27, 27, 34, 38, 39],
            "zip": ["8001", "8002", "8003", "3001", "3002", "3003"],
            "disease": ["flu", "cold", "flu", "cold", "flu", "gastritis"],
            "pay": [1, 2, 3, 4, 5, 6],
        }
    )


@pytest.mark.parametrize("name", pp.__all__)
def test_every_public_name_is_there(name):
    assert getattr(pp, name) is getattr(pp, name)
    assert name in dir(pp)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="k_anonimity"):
        _ = pp.k_anonimity
    assert not hasattr(pp, "utils")


def test_every_declared_metric_is_a_public_function():
    missing = [name for name in metrics() if name not in pp.__all__]
    assert missing == []


def test_every_error_is_a_privacy_plugin_error():
    found = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]
    assert len(found) > 8
    assert all(issubclass(kind, pp.PrivacyPluginError) for kind in found)


def imported_by(code):
    script = f"{code}\nimport sys, json\nprint(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def test_importing_the_package_imports_nothing_heavy():
    assert imported_by("import privacy_plugin") == []
    assert imported_by("from privacy_plugin import PrivacyPluginError") == []


def test_a_policy_and_a_plan_need_no_host():
    """sqlalchemy may come with the sources; frames, compilers and hosts come with the data that needs them."""
    code = "import privacy_plugin as pp\nfor name in pp.__all__:\n    getattr(pp, name)"
    assert not set(imported_by(code)) & {"pandas", "great_expectations", "dagster", "pyspark", "sklearn", "polars"}


def test_arguments_after_the_data_are_named():
    for name in ("k_anonymity", "l_diversity", "t_closeness", "reidentification_risk", "generalize"):
        first, *others = inspect.signature(getattr(pp, name)).parameters.values()
        assert first.name == "data"
        assert {parameter.kind for parameter in others} == {inspect.Parameter.KEYWORD_ONLY}


def test_metrics_as_documented(data):
    k = pp.k_anonymity(data, quasi_identifiers=QI)
    assert (k.value, k.to_dict()["value"]) == (1, 1)
    for variant, c, value in (("distinct", None, 1), ("entropy", None, 1), ("recursive", 2, 1)):
        found = pp.l_diversity(data, quasi_identifiers=QI, sensitive="disease", variant=variant, c=c)
        assert found.value == value
    hierarchy = pp.tree_hierarchy({"airways": ["flu", "cold"], "stomach": ["gastritis"]})
    for ground, value in (("equal", Fraction(5, 6)), ("ordered", Fraction(7, 12)), (hierarchy, Fraction(5, 6))):
        found = pp.t_closeness(data, quasi_identifiers=QI, sensitive="disease", ground=ground)
        assert found.value == value
        json.dumps(found.to_dict())
    assert pp.reidentification_risk(data, quasi_identifiers=QI).value == 1


def test_every_kind_of_data_gives_the_same_answer(data, tmp_path):
    data.to_csv(tmp_path / "data.csv", index=False)
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'data.sqlite'}")
    data.to_sql("visits", engine, index=False)
    kinds = [
        data,
        pp.frequency_table(data, ["age", "disease"]),
        tmp_path / "data.csv",
        pp.sql_table(engine, "visits"),
        pp.sql_table(engine, sa.text("select age, disease from visits")),
    ]
    for kind in kinds:
        found = pp.l_diversity(kind, quasi_identifiers=["age"], sensitive="disease")
        assert (found.value, found.rows, found.classes) == (1, 6, 5)


def test_generalization_as_documented(data, tmp_path):
    ages = pp.interval_hierarchy(start=0, stop=100, widths=[10, 50])
    pp.write_hierarchy(ages, tmp_path / "age.csv", values=sorted(set(data["age"])))
    plan = pp.generalize(
        data,
        hierarchies={"age": pp.read_hierarchy(tmp_path / "age.csv"), "zip": pp.mask_hierarchy(length=4)},
        requirements=[pp.require("k_anonymity", at_least=3), pp.require("l_diversity", at_least=2)],
        max_suppression=0.05,
        loss="precision",
        sensitive="disease",
    )
    assert plan.levels == {"age": 1, "zip": 1}
    assert (plan.loss, plan.suppressed) == (pytest.approx((1 / 3 + 1 / 4) / 2), 0)
    released = plan.apply(data)
    assert pp.k_anonymity(released, quasi_identifiers=QI).value == 3
    plan.save(tmp_path / "plan.json")
    pd.testing.assert_frame_equal(pp.load_plan(tmp_path / "plan.json").apply(data), released)


def test_gates_as_documented(data, tmp_path):
    finding = pp.require("k_anonymity", at_least=5).judge(data, quasi_identifiers=QI, sensitive=None, population=None)
    assert (finding.passed, finding.value, finding.limit.given) == (False, 1, {"at_least": 5})
    assert finding.reason
    (tmp_path / "policy.yaml").write_text(
        "dataset: visits\n"
        "columns: {age: quasi_identifier, zip: quasi_identifier, disease: sensitive, pay: insensitive}\n"
        "requirements: [{preset: k5}]\n"
    )
    policy = pp.Policy.load(tmp_path / "policy.yaml")
    verdict = policy.judge(data, population=None)
    assert (verdict.passed, len(verdict.findings)) == (False, 1)


def test_signatures_are_those_of_the_metrics():
    assert list(inspect.signature(pp.l_diversity).parameters) == [
        "data", "quasi_identifiers", "sensitive", "variant", "c", "separator", "unit", "count",
    ]  # fmt: skip
    assert "unit" in inspect.signature(pp.k_anonymity).parameters
    assert pp.k_anonymity.__doc__.startswith("Return the size of the smallest class")


def test_a_misspelt_argument_is_answered_with_the_valid_ones(data):
    with pytest.raises(pp.PrivacyPluginError, match="quasi_identifiers"):
        pp.k_anonymity(data, quasi_identifier=QI)


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("privacy_plugin.orchestration", "dagster", "dagster"),
        ("privacy_plugin.expectations", "great_expectations", "gx"),
    ],
)
def test_a_module_without_its_host_names_the_extra(module, package, extra):
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_A_PACKAGE, package, module], capture_output=True, text=True, check=False
    )
    assert f"ModuleNotFoundError: {module} needs" in run.stderr
    assert f"pip install 'privacy-plugin[{extra}]'" in run.stderr


def test_type_checkers_know_what_a_metric_returns():
    declared = {
        node.target.id: ast.unparse(node.annotation)
        for node in ast.walk(ast.parse(Path(pp.__file__).read_text(encoding="utf-8")))
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    returned = {
        name: inspect.signature(known.measure).return_annotation.__name__
        for name, known in metrics().items()
        if name != "epsilon_dependence"  # the function of that name measures a channel, and is imported
    }
    assert declared == {name: f"Callable[..., {kind}]" for name, kind in returned.items()}
