"""Imports point back along the data: source, frequency table, metric or anonymizer, requirement and gate, doors."""

import ast
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "privacy_plugin"

DOORS = {"orchestration", "expectations", "report", "cli", "commands", "demo", "__main__"}
ROOMS = {"frequency", "sources", "metrics", "anonymizers", "kernels"}

# What a room may import of the house, beside itself; every other module of the house is above the rooms.
HOUSE = {
    "errors": set(),
    "frequency": {"errors"},
    "kernels": {"errors"},
    "sources": {"errors", "frequency"},
    "metrics": {"errors", "frequency", "kernels"},
    "anonymizers": {"errors", "frequency", "kernels", "metrics"},
}
DOORS_MAY_USE = {
    "orchestration": {"report"},
    "expectations": set(),
    "report": set(),
    "cli": {"report", "commands"},
    "commands": {"report", "demo"},
    "demo": {"report", "commands", "orchestration"},
    "__main__": {"cli"},
}
# One way from one door to another: a Dagster check that asks Great Expectations for a second opinion.
ALLOWED = {("orchestration", "great_expectations_check", "expectations")}

# What a room may import from outside, beside the standard library.
OUTSIDE = {"errors": set(), "frequency": {"numpy"}, "metrics": {"numpy"}, "anonymizers": {"numpy"}}
OUTSIDE |= {"kernels": {"numpy", "numba"}}
# The same, where it is imported only when it is needed: frames for results, noise from a vetted library.
OUTSIDE_LATER = {"anonymizers": {"pandas", "opendp"}}
HOSTS = {
    "great_expectations": {"expectations"},
    "dagster": {"orchestration", "demo"},
    "pyspark": {"sources", "expectations"},
    "numba": {"kernels"},
    "polars": {"sources"},
    "typer": {"cli", "commands"},
}


def files():
    """Return every module but the front door; a walk does not follow the link to the folder at the top."""
    found = {*PACKAGE.rglob("*.py"), *(PACKAGE / "expectations").glob("*.py")}
    return sorted(found - {PACKAGE / "__init__.py"})


def parts_of(path):
    """Return (room or module, module) of a file: ('metrics', 'k_anonymity') or ('gate', 'gate')."""
    inside = path.relative_to(PACKAGE).with_suffix("").parts
    return inside[0], inside[-1]


@cache
def imports_of(path):
    """Return (imported name, whether it is only imported when something runs) of every import of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    at_import = set(_outside_functions(tree))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, node not in at_import) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            inside = node.module == "privacy_plugin"
            names = [f"privacy_plugin.{alias.name}" for alias in node.names] if inside else [str(node.module)]
            found += [(name, node not in at_import) for name in names]
    return tuple(found)


def _outside_functions(tree):
    """Walk over what runs when the module is imported; what stands under TYPE_CHECKING does not."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from _outside_functions(node)


def house_imports(path):
    """Return the rooms and modules of the house that a file imports."""
    names = [name.split(".") for name, _ in imports_of(path)]
    return {parts[1] for parts in names if parts[0] == "privacy_plugin" and len(parts) > 1}


def outside_imports(path, *, excused=frozenset()):
    """Return what a file imports from outside, without what is excused when it is imported later."""
    names = {
        name.partition(".")[0] for name, later in imports_of(path) if not (later and name.partition(".")[0] in excused)
    }
    return names - set(sys.stdlib_module_names) - {"privacy_plugin"}


def violations(path):
    room, module = parts_of(path)
    wanted = house_imports(path) - {room}
    if room in HOUSE:
        wrong = wanted - HOUSE[room]
    elif room in DOORS:
        wrong = (wanted & DOORS) - DOORS_MAY_USE[room]
        wrong = {name for name in wrong if (room, module, name) not in ALLOWED}
    else:
        wrong = wanted & DOORS
    problems = [f"{room}/{module} imports {name}" for name in sorted(wrong)]
    outside = outside_imports(path, excused=OUTSIDE_LATER.get(room, frozenset()))
    problems += [f"{room}/{module} imports {name}" for name in sorted(outside) if name not in OUTSIDE.get(room, {name})]
    problems += [
        f"{room}/{module} imports the host {name}"
        for name in sorted(outside_imports(path) & set(HOSTS))
        if room not in HOSTS[name]
    ]
    return problems


def test_there_is_a_house_to_look_at():
    assert len(files()) > 50
    assert {parts_of(path)[0] for path in files()} >= ROOMS | {"gate", "policy", "orchestration", "expectations"}


@pytest.mark.parametrize("path", files(), ids=lambda path: "/".join(path.relative_to(PACKAGE).parts))
def test_imports_point_back_along_the_data(path):
    assert violations(path) == []


def test_the_front_door_imports_nothing_until_it_is_asked():
    now = [name for name, later in imports_of(PACKAGE / "__init__.py") if not later]
    assert now == ["importlib", "typing"]


@pytest.mark.parametrize("module", ["sources", "policy", "gate", "certificate", "generalization", "measuring"])
def test_hosts_are_imported_only_when_they_are_needed(module):
    """Of the core, no module imports a host when it is loaded itself."""
    path = PACKAGE / f"{module}.py"
    paths = [path] if path.exists() else [PACKAGE / module / "__init__.py", PACKAGE / module / "opening.py"]
    for file in paths:
        now = {name.partition(".")[0] for name, later in imports_of(file) if not later}
        assert not now & {*HOSTS, "pandas", "duckdb", "pyarrow"}


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("frequency/x.py", "import pandas"),
        ("frequency/x.py", "from privacy_plugin.sources import open_source"),
        ("kernels/x.py", "from privacy_plugin.frequency import FrequencyTable"),
        ("metrics/x.py", "from privacy_plugin import sources"),
        ("metrics/x.py", "def f():\n    import privacy_plugin.gate"),
        ("sources/x.py", "from privacy_plugin.metrics.registry import metrics"),
        ("anonymizers/x.py", "from privacy_plugin.requirement import require"),
        ("gate.py", "from privacy_plugin.report import write_report"),
        ("policy.py", "import great_expectations"),
        ("report/x.py", "from privacy_plugin.orchestration import anything"),
        ("expectations/x.py", "from privacy_plugin.report import write_report"),
        ("orchestration/x.py", "from privacy_plugin.expectations import anything"),
        ("gate.py", "import numba"),
        ("anonymizers/x.py", "import pandas"),
    ],
)
def test_a_wrong_direction_is_noticed(tmp_path, monkeypatch, where, text):
    """The check itself: each of these lines must be found."""
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    path = tmp_path / where
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    assert len(violations(path)) == 1


def test_no_test_borrows_from_another_test():
    """What several tests need lies beside them, in a file that is no test: whoever moves a test moves nothing else."""
    borrowed = [
        f"{path.relative_to(ROOT)} imports {name}"
        for folder in ("tests", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for name, _ in imports_of(path)
        if name.startswith("tests.") and name.rpartition(".")[2].startswith("test_")
    ]
    assert borrowed == []


def test_the_contracts_of_the_import_linter_hold():
    linter = shutil.which("lint-imports", path=str(Path(sys.executable).parent)) or shutil.which("lint-imports")
    if linter is None:
        pytest.skip("import-linter is not installed; it comes with the dev extra")
    run = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
