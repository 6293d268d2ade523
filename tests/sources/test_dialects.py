"""A database is one file: nothing outside of its dialect depends on its name."""

import ast
from pathlib import Path

import pytest

import privacy_plugin
from privacy_plugin.sources.sql.dialect import MODULES, Dialect, dialect_named

PACKAGE = Path(privacy_plugin.__file__).parent
SHARED = ("connections.py", "origin.py", "queries.py", "recoding.py", "source.py", "staging.py")


@pytest.mark.parametrize("name", MODULES)
def test_every_registered_module_has_a_dialect_of_that_name(name: str) -> None:
    dialect = dialect_named(name)
    assert isinstance(dialect, Dialect)
    assert dialect.name == name


@pytest.mark.parametrize("file", SHARED)
def test_shared_code_compares_no_database_name(file: str) -> None:
    tree = ast.parse((PACKAGE / "sources" / "sql" / file).read_text(encoding="utf-8"))
    constants = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert constants.isdisjoint(MODULES)


def test_no_module_compares_the_name_of_a_dialect() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in PACKAGE.rglob("*.py")
        if path.parent.name != "demo"  # it generates its tables through the fastest path of DuckDB
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Compare)
        and any(
            isinstance(side, ast.Attribute) and ast.unparse(side).endswith("dialect.name")
            for side in [node.left, *node.comparators]
        )
        and any(ast.unparse(side).strip("'\"") in MODULES for side in [node.left, *node.comparators])
    ]
    assert found == []
