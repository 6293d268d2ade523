"""Import rules that the layers of import-linter (pyproject.toml) cannot state: late imports, tests, benchmarks."""

import ast
import shutil
import subprocess
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "privacy_plugin"

# Libraries that take long to import, and the rooms that may import them when they are loaded themselves.
HEAVY = {
    "dagster": {"orchestration", "demo"},
    "great_expectations": {"expectations"},
    "opendp": set(),
    "polars": {"sources"},
    "pyspark": {"sources", "expectations"},
    "sklearn": set(),
    "typer": {"cli"},
}
# What a room may import from outside the standard library when it is loaded.
OUTSIDE = {
    "errors.py": set(),
    "text_files.py": set(),
    "atomic_write.py": set(),
    "description.py": set(),
    "compiled.py": {"numba", "numpy"},
    "frequency": {"numpy"},
    "metrics": {"numpy", "numba"},
    "generalization": {"numpy", "numba"},
    "anonymizers": {"numpy", "numba"},
}


@cache
def imports_of(path):
    """Return (imported module, whether it is imported only inside a function) for every import of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    at_import = set(_outside_functions(tree))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, node not in at_import) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports in full"
            found.append((str(node.module), node not in at_import))
    return tuple(found)


def _outside_functions(tree):
    """Walk over what runs when the module is imported; code under TYPE_CHECKING does not."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from _outside_functions(node)


def imported_on_loading(path):
    """Return the packages that loading a file imports, without the standard library and the project itself."""
    names = {name.partition(".")[0] for name, later in imports_of(path) if not later}
    return names - set(sys.stdlib_module_names) - {"privacy_plugin"}


def violations(path):
    room = path.relative_to(PACKAGE).parts[0]
    found = imported_on_loading(path)
    wrong = {name for name in found if name not in OUTSIDE.get(room, {name}) or room not in HEAVY.get(name, {room})}
    return sorted(wrong)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_heavy_libraries_are_imported_late(path):
    assert violations(path) == []


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("frequency/x.py", "import pandas"),
        ("policy/x.py", "import great_expectations"),
        ("anonymizers/x.py", "import pandas"),
        ("gate/x.py", "class A:\n    import dagster"),
    ],
)
def test_an_early_import_is_noticed(tmp_path, monkeypatch, where, text):
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    path = tmp_path / where
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    assert len(violations(path)) == 1


def test_importing_the_package_imports_nothing_else():
    now = [name for name, later in imports_of(PACKAGE / "__init__.py") if not later]
    assert now == ["importlib", "typing"]


def test_no_test_imports_from_another_test():
    """Move what several tests need into a file that is not a test."""
    borrowed = [
        f"{path.relative_to(ROOT)} imports {name}"
        for folder in ("tests", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for name, _ in imports_of(path)
        if name.startswith("tests.") and name.rpartition(".")[2].startswith("test_")
    ]
    assert borrowed == []


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda path: path.name)
def test_benchmarks_import_what_exists(path):
    """Benchmarks are run by hand; a renamed module must not break them unnoticed."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    missing = [
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("privacy_plugin")
        for alias in node.names
        if not exists(str(node.module), alias.name)
    ]
    assert missing == []


def exists(module, name):
    try:
        return hasattr(import_module(module), name) or find_spec(f"{module}.{name}") is not None
    except ModuleNotFoundError:
        return False


def test_the_contracts_of_the_import_linter_hold():
    linter = shutil.which("lint-imports", path=str(Path(sys.executable).parent)) or shutil.which("lint-imports")
    if linter is None:
        pytest.skip("import-linter is not installed; it comes with the dev extra")
    run = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
