"""Everything that leaves with a randomized release follows from the draw and the policy, not from the table.

Two tables differ in one row. Both runs get the same draw, so that every byte that differs in the release, the report,
the terminal, the JSON, the certificate, the log or a staging file next to the release would be something that no budget
covers.
"""

import json
import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from privacy_plugin.anonymizers.base import RandomizedMethod
from privacy_plugin.anonymizers.registry import find_anonymizer
from privacy_plugin.gate.certificate import read_certificate
from privacy_plugin.sources.sql import files
from tests.cli.conftest import Run
from tests.cli.conftest import run as run  # the fixture
from tests.randomized_policies import (
    EPSILON_SAFE,
    ITEMSET_COUNTS,
    ITEMSETS,
    RESPONSE,
    SYNTHESIZE,
    open_ledger,
    people,
    policy_dict,
)

DOMAINS = {"sex": ["f", "m"], "zip": ["100", "101", "102", "199"]}
METHODS = [
    {**SYNTHESIZE, "domains": DOMAINS},
    {**RESPONSE, "domains": DOMAINS},
    EPSILON_SAFE,
    {**ITEMSETS, "domains": DOMAINS},
    ITEMSET_COUNTS,
]
CHANGES = [
    ("another value", lambda rows: rows.assign(zip=["199", *rows["zip"][1:]])),
    ("another person", lambda rows: rows.assign(name=["zqperson", *rows["name"][1:]])),
    ("a class that is left", lambda rows: rows.assign(sex=["m", *rows["sex"][1:]])),
]
VARYING = [  # times, random names and signatures, which differ between two runs on one table too
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?([+-]\d\d:\d\d|Z)?( UTC)?", "TIME"),
    (r'"(salt|sig|payload)": "[^"]*"', "SECRET"),
    (r"(/[^\s\"'<>]*)?/(one|other)\b", "FOLDER"),
]


def masked(text: str) -> str:
    for pattern, name in VARYING:
        text = re.sub(pattern, name, text)
    return text


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.certificates import TEST_KEY

    monkeypatch.setenv("PRIVACY_PLUGIN_KEY", TEST_KEY)
    monkeypatch.setenv("COLUMNS", "200")


class Draws:
    """The first draw of a method, given to every later run instead of its own; the table is still prepared."""

    def __init__(self, method: type[RandomizedMethod], monkeypatch: pytest.MonkeyPatch) -> None:
        prepare, known = method.prepare, []

        def prepare_known(this: Any, table: Any, generator: Any) -> Callable[[], Any]:
            draw = prepare(this, table, generator)

            def first_draw() -> Any:
                drawn = draw()
                known.append(drawn)
                return known[0]

            return first_draw

        monkeypatch.setattr(method, "prepare", prepare_known)
        self.known = known


def leaving(folder: Path, rows: pd.DataFrame, method: dict[str, Any], run: Run, staged: list[str]) -> dict[str, str]:
    """Return everything that a run in this folder leaves or shows."""
    folder.mkdir()
    address = f"sqlite:///{folder / 'ledger.db'}"
    open_ledger(address, epsilon=9, delta=0.1).close()
    rows.to_csv(folder / "visits.csv", index=False)
    (folder / "policy.yaml").write_text(yaml.safe_dump(policy_dict(anonymize=method)))
    files_of = ("-p", folder / "policy.yaml", "--ledger", address)
    made, certificate, report = folder / "made.csv", folder / "c.json", folder / "report.html"
    drawn = run("anonymize", folder / "visits.csv", *files_of, "-o", made, "--report", report, "--json")
    assert drawn.exit_code == 0, drawn.output
    certified = run("certify", made, *files_of, "-c", certificate, "--json")
    found = {
        "release": "\n".join(sorted(made.read_text().splitlines())),
        "terminal": drawn.output + certified.output,
        "report": report.read_text(),
        "certificate": certificate.read_text(),
        "statement": json.dumps(read_certificate(certificate).statement),
        "staged": "\n".join(staged),
        "files": "\n".join(sorted(path.name for path in folder.iterdir())),
    }
    return {name: masked(text) for name, text in found.items()}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change[0])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method["method"])
def test_what_leaves_is_the_same_for_neighbouring_tables(
    method: dict[str, Any],
    change: tuple[str, Callable[[pd.DataFrame], pd.DataFrame]],
    tmp_path: Path,
    run: Run,
    key: None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    rows = pd.DataFrame(people(240))
    kind = find_anonymizer(method["method"])
    assert issubclass(kind, RandomizedMethod)
    draws = Draws(kind, monkeypatch)
    write, staged = files._write_file, list[str]()

    def watch(relation: Any, path: Path) -> None:
        write(relation, path)
        if path.is_relative_to(tmp_path):  # else a rehearsal in the private folder for temporary files
            staged.append("\n".join(sorted(path.read_text().splitlines())))

    monkeypatch.setattr(files, "_write_file", watch)
    found = []
    for name, table in (("one", rows), ("other", change[1](rows))):
        staged.clear()
        caplog.clear()
        with caplog.at_level(logging.INFO):
            left = leaving(tmp_path / name, table, method, run, staged)
        found.append({**left, "log": masked(caplog.text)})
    assert len(draws.known) == 2
    for part in found[0]:
        assert found[0][part] == found[1][part], part
