"""Releases over time: what a release costs after many others, and whom thirty daily releases expose.

Run from the project's root: python benchmarks/releases_over_time.py [--people N] [--releases N] [--days N]. First part:
as many releases of a table of people, one in a hundred replaced between two of them; processor seconds of judging and
of recording each release, against the joint classes that the history holds. Second part: daily releases of a ward with
joiners and leavers. A person is exposed if an attacker who knows everybody's quasi-identifiers and attendance is left
with fewer than k people, or with one sensitive value, in their joint class: counted by the code below, from what was
published, without the package. Delay: days between a person's first day in the table and their first release. Loss:
share of the rows of a day that are not released, and of detail in those that are.
"""

import argparse
import random
import resource
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.errors import InfeasibleError
from privacy_plugin.history import ReleaseHistory
from privacy_plugin.history.in_use import using_history
from privacy_plugin.history.recording import recording
from privacy_plugin.sources import open_source

KEY = b"a key of a benchmark, not secret"
K, VALUES = 5, 2


def policy_of(*, together: bool, hierarchies: bool = True) -> pp.Policy:
    """Return the policy of both parts."""
    age: dict[str, Any] = {"role": "quasi_identifier"}
    if hierarchies:
        age["hierarchy"] = {"intervals": {"start": 0, "stop": 100, "widths": [5, 10, 20]}}
    return pp.Policy.from_dict(
        {
            "dataset": "ward",
            "columns": {"person": "unit", "age": age, "sex": {**age, **_sex(hierarchies)}, "diagnosis": "sensitive"},
            "requirements": [
                {"k_anonymity": {"at_least": K}},
                {"l_diversity": {"variant": "distinct", "at_least": VALUES}},
                *([{"across_releases": {}}] if together else []),
            ],
            **(
                {"anonymize": {"max_suppression": 1.0, **({"releases": "together"} if together else {})}}
                if hierarchies
                else {}
            ),
        }
    )


def _sex(hierarchies: bool) -> dict[str, Any]:
    return {"hierarchy": {"tree": {"*": ["f", "m"]}}} if hierarchies else {}


def many_releases(people: int, releases: int) -> None:
    """Judge and record release after release of a large table."""
    generator = np.random.default_rng(1)
    policy = policy_of(together=True, hierarchies=False)
    classes = max(people // 500, 1)

    def drawn(first: int, number: int) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "person": np.arange(first, first + number),
                "age": generator.integers(0, classes, number),
                "sex": generator.choice(["f", "m"], number),
                "diagnosis": generator.integers(0, 20, number),
            }
        )

    table, newest = drawn(0, people), people
    print(f"{releases} releases of {people:,} people, {table.groupby(['age', 'sex']).ngroups:,} classes;")
    print("between two releases the people of one class in a hundred leave, and as many join in one class")
    print("release | judge s CPU | record s CPU | joint classes | history MB | peak MB")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.db"
        history = ReleaseHistory(f"sqlite:///{path}", key=KEY)
        for number in range(1, releases + 1):
            begun = time.process_time()
            verdict = policy.judge(table, history=history)
            judged = time.process_time()
            assert verdict.passed, verdict.reasons
            history.record(table, policy=policy)
            recorded = time.process_time()
            if number in (1, 2, 3, 5, 10, 20, 30, 40, 50, releases):
                details = verdict.findings[-1].measurement.details  # type: ignore[union-attr]
                size, peak = path.stat().st_size / 2**20, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
                print(
                    f"{number} | {judged - begun:.1f} | {recorded - judged:.1f} | {details['joint_classes']:,} | "
                    f"{size:.0f} | {peak:.0f}",
                    flush=True,
                )
            leaving = set(generator.choice(classes, max(classes // 100, 1), replace=False).tolist())
            stay = table[~table["age"].isin(leaving)]
            joined = drawn(newest, people - len(stay)).assign(age=generator.choice(sorted(leaving), people - len(stay)))
            newest += len(joined)
            table = pd.concat([stay, joined], ignore_index=True)


def thirty_days(people: int, days: int, leaving: float) -> None:
    """Release a ward daily: anonymized day by day, judged across releases, and continued."""
    print(
        f"\n{days} daily releases of a ward with about {people:,} people; each day {leaving:.1%} leave, as many join;"
    )
    print(f"k = {K}, {VALUES} diagnoses; exposed: people in joint classes of fewer people or diagnoses")
    print("way | releases | people seen | exposed | released a day | never released | median / 90% delay | detail lost")
    tables = _ward(people, days, leaving)
    for name, together, gate in (
        ("each day by itself, without the gate", False, False),
        ("each day by itself, refused by across_releases", False, True),
        ("releases: together", True, True),
    ):
        print(_line(name, _release_daily(tables, together=together, gate=gate), tables), flush=True)


def _ward(people: int, days: int, leaving: float) -> list[pd.DataFrame]:
    generator = random.Random(1)
    newest = 0

    def joiner() -> tuple[int, int, str, str]:
        nonlocal newest
        newest += 1
        age = min(99, max(0, round(generator.gauss(55, 20))))
        return newest, age, generator.choice("fm"), generator.choice(["flu", "cold", "asthma", "gastritis", "HIV"])

    here = [joiner() for _ in range(people)]
    tables = []
    for _ in range(days):
        tables.append(pd.DataFrame(here, columns=["person", "age", "sex", "diagnosis"]))
        here = [row for row in here if generator.random() >= leaving]
        here += [joiner() for _ in range(people - len(here))]
    return tables


def _release_daily(
    tables: Sequence[pd.DataFrame], *, together: bool, gate: bool
) -> tuple[list[pd.DataFrame | None], list[float]]:
    making, judging = policy_of(together=together), policy_of(together=True)
    history = ReleaseHistory("sqlite://", key=KEY)
    made: list[pd.DataFrame | None] = []
    for table in tables:
        with using_history(history), recording(judging) as record:
            try:
                result = anonymize(table, policy=making)
            except InfeasibleError:
                made.append(None)
                continue
            if gate and not judging.judge(result.made).passed:
                made.append(None)
                continue
            if gate:
                with record.verifying(open_source(result.made)) as reserve:
                    reserve(result.made, plan=result.plan)
        made.append(result.made)
    return made, [_detail_lost(each) for each in made if each is not None]


def _detail_lost(released: pd.DataFrame) -> float:
    """Return the mean loss of a cell: of an age interval (width - 1) / 99, of sex 1 if it is hidden."""
    ages = [_width(str(text)) for text in released["age"]]
    return float(np.mean([*ages, *(0.0 if text in ("f", "m") else 1.0 for text in released["sex"])]))


def _width(text: str) -> float:
    if text == "*":
        return 1.0
    low, _, high = text.strip("[)").replace(" to ", "-").replace(", ", "-").partition("-")
    return 0.0 if not high else (int(high) - int(low)) / 99


def _line(name: str, outcome: tuple[list[pd.DataFrame | None], list[float]], tables: Sequence[pd.DataFrame]) -> str:
    made, losses = outcome
    paths: dict[int, list[tuple[int, str, str]]] = defaultdict(list)
    values: dict[int, str] = {}
    first: dict[int, int] = {}
    seen: dict[int, int] = {}
    for day, (released, table) in enumerate(zip(made, tables, strict=True)):
        for person in table["person"]:
            seen.setdefault(int(person), day)
        if released is None:
            continue
        for person, age, sex, value in released[["person", "age", "sex", "diagnosis"]].itertuples(index=False):
            paths[int(person)].append((day, str(age), str(sex)))
            values[int(person)] = str(value)
            first.setdefault(int(person), day)
    joint: dict[tuple[tuple[int, str, str], ...], list[int]] = defaultdict(list)
    for person, path in paths.items():
        joint[tuple(path)].append(person)
    exposed = sum(
        len(members)
        for members in joint.values()
        if len(members) < K or len(Counter(values[person] for person in members)) < VALUES
    )
    delays = sorted(first[person] - seen[person] for person in first)
    share = np.mean(
        [0 if released is None else len(released) / len(table) for released, table in zip(made, tables, strict=True)]
    )
    published = sum(released is not None for released in made)
    return (
        f"{name} | {published} | {len(paths):,} of {len(seen):,} | {exposed:,} | {share:.1%} | "
        f"{1 - len(paths) / len(seen):.1%} | {delays[len(delays) // 2]} / {delays[len(delays) * 9 // 10]} days | "
        f"{np.mean(losses):.3f}"
    )


def main() -> None:
    """Run both parts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--releases", type=int, default=50)
    parser.add_argument("--ward", type=int, default=2_000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--leaving", type=float, nargs="*", default=[0.03, 0.005])
    given = parser.parse_args()
    for leaving in given.leaving:
        thirty_days(given.ward, given.days, leaving)
    if given.releases:
        many_releases(given.people, given.releases)


if __name__ == "__main__":
    main()
