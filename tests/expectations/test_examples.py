"""The examples in the docstrings run."""

import doctest
import pkgutil
from importlib import import_module

import pytest

from privacy_plugin import expectations

MODULES = [module.name for module in pkgutil.iter_modules(expectations.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    module = import_module(f"privacy_plugin.expectations.{name}")
    assert doctest.testmod(module).failed == 0


def test_every_expectation_has_an_example() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [
        test
        for name in MODULES
        for test in finder.find(import_module(f"privacy_plugin.expectations.{name}"))
        if test.examples
    ]
    assert len(found) >= 7
