"""`explain` knows everything that a policy can name, and the reference page is what it prints."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from privacy_plugin.anonymizers.registry import ANONYMIZERS
from privacy_plugin.cli.app import app
from privacy_plugin.cli.explain import explanations, reference
from privacy_plugin.metrics.registry import metrics

PAGE = Path(__file__).parents[2] / "docs" / "reference.md"


def test_the_reference_page_is_up_to_date() -> None:
    """To write it again: privacy-plugin explain > docs/reference.md."""
    assert PAGE.read_text(encoding="utf-8") == reference()


def test_everything_a_policy_can_name_is_explained() -> None:
    assert set(explanations()) == {*metrics(), *ANONYMIZERS, "intervals", "mask", "dates", "tree", "flat"}


def test_one_entry_has_its_limit_and_options() -> None:
    shown = CliRunner().invoke(app, ["explain", "maximum_disclosure"])
    assert shown.exit_code == 0
    assert "Limit: `at_most` or `below`." in shown.output
    assert "- `knowledge`: " in shown.output
    document = json.loads(CliRunner().invoke(app, ["explain", "k_anonymity", "--json"]).output)
    assert "Limit: `at_least` or `above`." in document["text"]


def test_an_unknown_name_is_bad_usage() -> None:
    shown = CliRunner().invoke(app, ["explain", "k_anonimity"])
    assert shown.exit_code == 2
    assert "did you mean 'k_anonymity'?" in shown.output


@pytest.mark.parametrize("name", [command.callback.__name__ for command in app.registered_commands if command.callback])
def test_flags_are_shown_without_a_type(name: str) -> None:
    assert "<bool>" not in CliRunner().invoke(app, [name, "--help"], terminal_width=120).output
