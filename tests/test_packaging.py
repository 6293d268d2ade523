"""The checkout, the wheel and the source distribution hold the same code, also without support for symbolic links."""

import os
import runpy
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GIT = ("git", "-c", "safe.directory=*")  # in a container, the checkout may belong to another user

# Imports every module of the package but __main__, which would start the command line; prints how many there are.
IMPORT_EVERYTHING = """
import importlib, pkgutil, sys
import privacy_plugin
assert privacy_plugin.__file__.startswith(sys.argv[1]), privacy_plugin.__file__
names = [found.name for found in pkgutil.walk_packages(privacy_plugin.__path__, "privacy_plugin.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names))
"""


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    """The modes and paths of all files under version control."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    return run(*GIT, "ls-files", "--stage", cwd=ROOT).splitlines()


@pytest.fixture(scope="module")
def clone(tracked: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout as Windows makes it: symbolic links would be text files."""
    folder = tmp_path_factory.mktemp("clone") / "privacy_plugin"
    run(*GIT, "-c", "core.symlinks=false", "clone", "--quiet", ROOT, folder, cwd=folder.parent)
    return folder


@pytest.fixture(scope="module")
def distributions(clone: Path) -> Path:
    """The folder of the source distribution, and of the wheel that is built from it."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", clone.parent / "dist", ".", cwd=clone)
    return clone.parent / "dist"


def test_there_are_no_symbolic_links(tracked: list[str]) -> None:
    assert [line for line in tracked if line.startswith("120000")] == []


def test_every_data_file_of_the_package_is_declared(tracked: list[str]) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    package = ROOT / "privacy_plugin"
    packaged = {path for pattern in declared["package-data"]["privacy_plugin"] for path in package.glob(pattern)}
    files = {ROOT / line.split("\t", 1)[1] for line in tracked}
    missing = {path for path in files if package in path.parents and path.suffix != ".py"} - packaged
    assert missing == set()


@pytest.mark.great_expectations
def test_the_top_level_expectations_are_those_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    import expectations
    import privacy_plugin.expectations as inner

    assert Path(expectations.__file__) == ROOT / "expectations" / "__init__.py"
    assert expectations.__all__ == list(inner.__all__)
    assert all(getattr(expectations, name) is getattr(inner, name) for name in inner.__all__)


def test_the_top_level_definitions_are_those_of_the_demo() -> None:
    import dagster as dg

    from privacy_plugin.demo import definitions

    loaded = runpy.run_path(str(ROOT / "definitions.py"))
    assert loaded["defs"] is definitions.defs
    dg.Definitions.validate_loadable(loaded["defs"])


@pytest.mark.slow
def test_dagster_loads_the_definitions_of_a_checkout(clone: Path, tmp_path: Path) -> None:
    dagster = Path(sys.executable).parent / "dagster"
    run(dagster, "definitions", "validate", "-f", "definitions.py", cwd=clone, DAGSTER_HOME=str(tmp_path))


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_package(clone: Path, distributions: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    packaged = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packaged == set(run("git", "ls-files", "privacy_plugin", cwd=clone).splitlines())
    assert {"privacy_plugin/policy/presets.yaml", "privacy_plugin/report/style.css"} <= packaged


@pytest.mark.slow
def test_the_source_distribution_holds_every_file_of_the_checkout(clone: Path, distributions: Path) -> None:
    (archive,) = distributions.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        packaged = {name.partition("/")[2] for name in opened.getnames()}
    wanted = {name for name in run("git", "ls-files", cwd=clone).splitlines() if not name.startswith(".")}
    assert wanted - packaged == set()


@pytest.mark.slow
@pytest.mark.great_expectations
def test_every_module_of_the_wheel_can_be_imported(distributions: Path, tmp_path: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    target = tmp_path / "installed"
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", target, wheel, cwd=tmp_path)
    printed = run(sys.executable, "-c", IMPORT_EVERYTHING, target, cwd=tmp_path, PYTHONPATH=str(target))
    modules = [path for path in target.joinpath("privacy_plugin").rglob("*.py") if path.parent != target]
    assert int(printed.splitlines()[-1]) == len(modules) - 1  # the package itself is not among its modules
    run(sys.executable, "-m", "privacy_plugin", "--help", cwd=tmp_path, PYTHONPATH=str(target))
