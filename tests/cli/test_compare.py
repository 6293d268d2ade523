"""`compare`: two policies side by side, on a file and in a database, without writing a release."""

import json

import pandas as pd
import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

from privacy_plugin.cli.app import app

POLICY = """
dataset: visits
columns:
  age: {{role: quasi_identifier, hierarchy: {{intervals: {{start: 0, stop: 100, widths: [5, 10, 20]}}}}}}
  sex: {{role: quasi_identifier, hierarchy: {{tree: {{any: [f, m]}}}}}}
  illness: sensitive
requirements: [k_anonymity: {{at_least: {k}}}]
{more}
"""


@pytest.fixture
def visits():
    return pd.DataFrame(
        {"age": [20 + n % 40 for n in range(200)], "sex": ["f", "m"] * 100, "illness": ["flu", "gout"] * 100}
    )


@pytest.fixture
def policies(tmp_path):
    for name, k, more in (
        ("loose", 3, ""),
        ("strict", 40, ""),
        ("coarse", 3, "anonymize: {method: generalize, max_suppression: 0}"),
        ("impossible", 900, ""),
    ):
        (tmp_path / f"{name}.yaml").write_text(POLICY.format(k=k, more=more))
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


def named(policies, *names):
    return [part for name in names for part in ("--policy", policies / f"{name}.yaml")]


def test_the_stricter_policy_loses_more(visits, policies):
    visits.to_csv(policies / "visits.csv", index=False)
    before = sorted(path.name for path in policies.iterdir())
    result = run(policies / "visits.csv", *named(policies, "loose", "strict", "coarse"), "--json")
    assert result.exit_code == 0, result.output
    loose, strict, coarse = json.loads(result.stdout)["policies"]
    assert loose["status"] == strict["status"] == coarse["status"] == "passed"
    assert loose["findings"][0]["value"] >= 3
    assert strict["findings"][0]["value"] >= 40
    assert sum(loose["columns"].values()) < sum(strict["columns"].values())
    assert loose["usability"] >= coarse["usability"] > 0
    assert sorted(path.name for path in policies.iterdir()) == before


def test_a_policy_that_cannot_be_met_is_shown_with_its_reason(visits, policies):
    visits.to_csv(policies / "visits.csv", index=False)
    page = policies / "compared.html"
    result = run(policies / "visits.csv", *named(policies, "loose", "impossible"), "--html", page, "--json")
    assert result.exit_code == 0
    assert [each["status"] for each in json.loads(result.stdout)["policies"]] == ["passed", "not evaluated"]
    text = page.read_text()
    assert "loose.yaml" in text
    assert "impossible.yaml" in text
    assert "gout" not in text
    assert "http://" not in text.replace("http://www.w3.org", "")


def test_a_database_table_is_compared_and_nothing_is_left(visits, policies):
    url = f"sqlite:///{policies / 'clinic.db'}"
    visits.to_sql("visits", sa.create_engine(url), index=False)
    result = run("--url", url, "--table", "visits", *named(policies, "loose", "strict"), "--json")
    assert result.exit_code == 0, result.output
    assert sa.inspect(sa.create_engine(url)).get_table_names() == ["visits"]


def test_one_policy_is_not_a_comparison(visits, policies):
    visits.to_csv(policies / "visits.csv", index=False)
    assert run(policies / "visits.csv", *named(policies, "loose")).exit_code == 2
