"""Whatever a file or a mapping holds, our readers return or raise our errors: nothing else, and nothing that hangs.

Seeds are in `seeds/`, and files that the package writes itself. Hypothesis changes bytes, or replaces one part of a
parsed document by something hostile. PRIVACY_PLUGIN_FUZZ_SECONDS is the time for each reader (`make fuzz`); without it
every reader gets a fixed number of inputs.
"""

import copy
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import PrivacyPluginError
from privacy_plugin.gate.certificate import Certificate, issue, require_signature
from privacy_plugin.gate.keyring import read_trusted
from privacy_plugin.gate.signing import PublicKey, SigningKey
from privacy_plugin.generalization.plan import load_plan
from privacy_plugin.sources import open_source
from tests.certificates import FRAME, KEY, KEYS, POLICY

SEEDS = Path(__file__).parent / "seeds"
SECONDS = float(os.environ.get("PRIVACY_PLUGIN_FUZZ_SECONDS", 0))
VISITS = pd.DataFrame(
    {"person": ["a", "b", "c", "d"], "age": [30, 30, 41, 41], "zip": ["80011"] * 4, "illness": ["flu", "cold"] * 2}
)


def deep(levels: int) -> Any:
    found: Any = 1
    for _ in range(levels):
        found = [found]
    return found


HOSTILE = [
    *(None, True, False, "", " ", [], {}, [[]], [None], {"": None}, {"at_least": {}}, 0, -1, -5, 1, 2**63, 10**400),
    *(-(10**400), 1e308, 5e-324, float("inf"), float("-inf"), float("nan"), 0.1, "1/0", "1/3", "-1/3", "1e400"),
    *("\ud800", "a\udcffb", "\x00", "\u202e", "a" * 100_000, "*", "{partition}", "'; DROP TABLE visits; --", "../x"),
    *("90 days", "10%", "inf", "NaN", "30", deep(60), deep(120), ["\ud800"] * 3, {"\ud800": "\ud800"}, b"hiv"),
]


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every part of a document."""
    yield path
    if len(path) > 20:
        return
    pairs = document.items() if isinstance(document, dict) else ()
    parts = enumerate(document) if isinstance(document, list) else pairs
    for key, value in parts:
        yield from places(value, (*path, key))


@st.composite
def changed_documents(draw: st.DrawFn, documents: list[Any]) -> Any:
    """Return a document with one to three parts replaced, removed or renamed."""
    document = copy.deepcopy(draw(st.sampled_from(documents)))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(places(document))))
        hostile = copy.deepcopy(draw(st.sampled_from(HOSTILE)))
        if not path:
            return hostile
        parent = document
        for key in path[:-1]:
            parent = parent[key]
        way = draw(st.sampled_from(["replace", "replace", "remove", "rename", "wrap"]))
        if way == "replace":
            parent[path[-1]] = hostile
        elif way == "remove":
            del parent[path[-1]]
        elif way == "wrap":
            parent[path[-1]] = [parent[path[-1]], hostile]
        elif isinstance(parent, dict) and isinstance(hostile, str):
            parent[hostile] = parent.pop(path[-1])
    return document


BYTES = [b'"', b"\n", b"\r", b";", b",", b"\xff\xfe", b"\xed\xa0\x80", b"\x00", b"&a *a", b"[" * 3_000, b"1" * 5_000]


@st.composite
def changed_bytes(draw: st.DrawFn, contents: list[bytes]) -> bytes:
    """Return content with some bytes replaced, removed, repeated or inserted."""
    found = bytearray(draw(st.sampled_from(contents)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(found)))
        stop = min(len(found), start + draw(st.integers(0, 20)))
        inserted = draw(
            st.one_of(
                st.binary(max_size=8),
                st.sampled_from(BYTES),
            )
        )
        found[start:stop] = inserted + (bytes(found[start:stop]) if draw(st.booleans()) else b"")
    return bytes(found)


def use_policy(policy: pp.Policy) -> None:
    """Judge with a policy that was accepted, and write what a door would."""
    verdict = policy.judge(VISITS, fingerprint=True)
    json.dumps(verdict.to_dict())
    policy.to_dict() if hasattr(policy, "to_dict") else None
    certificate = issue(verdict, keys=KEYS)
    require_signature(Certificate.from_json(certificate.to_json()), KEYS)


def read_policy(given: Any) -> None:
    use_policy(pp.Policy.from_dict(given))


def read_policy_file(path: Path) -> None:
    use_policy(pp.Policy.load(path))


def read_plan_file(path: Path) -> None:
    plan = load_plan(path)
    json.dumps(plan.to_dict())
    plan.apply(VISITS)


def read_certificate(path: Path) -> None:
    certificate = Certificate.from_json(path.read_bytes().decode("utf-8", "replace"))
    require_signature(certificate, KEYS)
    assert certificate.passed
    assert certificate.tables


def read_keys(path: Path) -> None:
    text = path.read_bytes().decode("utf-8", "replace")
    for read in (SigningKey.from_text, PublicKey.from_pem):
        try:
            read(text)
        except PrivacyPluginError:
            continue
    read_trusted([path], revoked=[path])


def read_hierarchy_file(path: Path) -> None:
    hierarchy = pp.read_hierarchy(path)
    pp.generalize(VISITS[["age"]], hierarchies={"age": hierarchy}, requirements=[pp.require("k_anonymity", at_least=2)])


def read_rows(path: Path) -> None:
    source = open_source(path)
    source.frequencies(list(source.columns))
    source.fingerprint()


def plans(folder: Path) -> list[Any]:
    """Return a plan of every kind, as the package writes them."""
    found = []
    ages, places = pp.interval_hierarchy(start=0, stop=100, widths=[10, 50]), pp.mask_hierarchy(length=5)
    asked: dict[str, Any] = {
        "hierarchies": {"age": ages, "zip": places},
        "requirements": [pp.require("k_anonymity", at_least=2)],
        "max_suppression": 0.5,
    }
    for method in (pp.generalize, pp.generalize_locally):
        method(VISITS, **asked).save(folder / "plan.json")
        found.append(json.loads((folder / "plan.json").read_text(encoding="utf-8")))
    return found


def contents(pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(SEEDS.glob(pattern))]


def fuzz(strategy: st.SearchStrategy[Any], read: Callable[[Any], None], *, examples: int) -> None:
    """Read what the strategy makes; only our own errors may come out."""
    end = time.monotonic() + SECONDS

    @settings(
        max_examples=1_000_000 if SECONDS else examples,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def attempt(made: Any) -> None:
        if SECONDS and time.monotonic() > end:
            return
        try:
            read(made)
        except PrivacyPluginError as problem:
            str(problem).encode("utf-8", "backslashreplace")

    attempt()


def into(path: Path, read: Callable[[Path], None]) -> Callable[[Any], None]:
    """Return a function that writes bytes or a document (as JSON) to a file and reads it."""

    def write(made: Any) -> None:
        if not isinstance(made, bytes):
            try:
                made = json.dumps(made, default=repr).encode()
            except (ValueError, RecursionError):
                return
        path.write_bytes(made)
        read(path)

    return write


def test_policies() -> None:
    fuzz(changed_documents([yaml.safe_load(text) for text in contents("*.yaml")]), read_policy, examples=150)


def test_policy_files(tmp_path: Path) -> None:
    fuzz(changed_bytes(contents("*.yaml")), into(tmp_path / "policy.yaml", read_policy_file), examples=100)


@pytest.mark.slow  # makes its plans with loops that are compiled first
def test_plans(tmp_path: Path) -> None:
    fuzz(changed_documents(plans(tmp_path)), into(tmp_path / "changed.json", read_plan_file), examples=150)


@pytest.mark.slow
def test_plan_files(tmp_path: Path) -> None:
    made = [json.dumps(plan).encode() for plan in plans(tmp_path)]
    fuzz(changed_bytes(made), into(tmp_path / "changed.json", read_plan_file), examples=100)


def test_certificates_that_were_changed_are_refused(tmp_path: Path) -> None:
    genuine = issue(POLICY.judge(FRAME, fingerprint=True), keys=KEYS).to_json()
    signed = Certificate.from_json(genuine)

    def read(path: Path) -> None:
        read_certificate(path)
        found = Certificate.from_json(path.read_text(encoding="utf-8"))
        assert found.payload == signed.payload  # only the envelope may differ: spaces, further signatures

    fuzz(changed_bytes([genuine.encode()]), into(tmp_path / "c.json", read), examples=300)
    fuzz(changed_documents([json.loads(genuine)]), into(tmp_path / "c.json", read), examples=300)


def test_keys(tmp_path: Path) -> None:
    made = [KEY.to_pem().encode(), KEY.public.to_pem().encode(), f"{KEY.id}\n".encode()]
    fuzz(changed_bytes(made), into(tmp_path / "k.pub", read_keys), examples=300)


def test_hierarchies(tmp_path: Path) -> None:
    fuzz(changed_bytes(contents("*.hierarchy")), into(tmp_path / "ages.csv", read_hierarchy_file), examples=100)


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_files(suffix: str, tmp_path: Path) -> None:
    fuzz(changed_bytes(contents("*.csv")), into(tmp_path / f"visits.{suffix}", read_rows), examples=60)


NAMES = st.sampled_from(["age", "\ud800", "a\udcff", "", " ", "a" * 300, "'", '"', "\x00", "*", "%s"])
VALUES = st.sampled_from(
    [None, 0, 10**400, float("inf"), float("nan"), "\ud800", "", "\x00", "a" * 10_000, True, 1, b"a"]
)


def test_frames_with_any_names_and_values() -> None:
    def read(made: tuple[str, str, list[Any]]) -> None:
        known, sensitive, values = made
        frame = pd.DataFrame({0: pd.Series(values, dtype=object), 1: pd.Series(values[::-1], dtype=object)})
        frame.columns = pd.Index([known, sensitive], dtype=object)  # a text index refuses surrogates itself
        columns = {known: "quasi_identifier", sensitive: "sensitive"}
        policy = pp.Policy.from_dict(
            {"dataset": "visits", "columns": columns, "requirements": [{"k_anonymity": {"at_least": 2}}]}
        )
        json.dumps(policy.judge(frame, fingerprint=True).to_dict()).encode()

    fuzz(st.tuples(NAMES, NAMES, st.lists(VALUES, max_size=6)), read, examples=200)
