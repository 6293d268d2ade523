"""The reference page names every expectation with every field, and is up to date."""

from pathlib import Path

import pytest

from privacy_plugin import expectations
from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.reference import reference

PAGE = Path(__file__).parent.parent.parent / "docs" / "expectations.md"
ALL = [getattr(expectations, name) for name in expectations.__all__]


def test_the_reference_page_is_up_to_date() -> None:
    """To write it again: python -m privacy_plugin.expectations.reference > docs/expectations.md."""
    assert PAGE.read_text(encoding="utf-8") == reference()


@pytest.mark.parametrize("expectation", [each for each in ALL if issubclass(each, PrivacyExpectation)])
def test_every_expectation_describes_itself(expectation: type[PrivacyExpectation]) -> None:
    assert expectation.library_metadata["tags"][-1] == expectation.metric
    described = expectation.schema()["properties"]
    for name in ("quasi_identifiers", "sensitive", "population", "at_least", "at_most", "below", "between"):
        assert name not in expectation.success_keys or described[name]["description"]
