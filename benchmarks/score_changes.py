"""What repairs and k-anonymity make of the privacy score of Adult: the tables of docs/evaluation-score.md.

Run from the project's root: python benchmarks/score_changes.py; some minutes. Adult is looked for in
PRIVACY_PLUGIN_DATA or ../shared/data. No randomness: the numbers are the same in every run.
"""

import os
import time
from pathlib import Path
from typing import Any

import pandas as pd

import privacy_plugin as pp

FOLDER = Path(os.environ.get("PRIVACY_PLUGIN_DATA", "../shared/data")) / "adult"
SENSITIVE = "occupation"
TOLERANCE = 1e-12


def read() -> pd.DataFrame:
    return pd.read_csv(FOLDER / "adult_30162.csv", sep=";", dtype=str)


def hierarchies(columns: list[str]) -> dict[str, Any]:
    return {name: pp.read_hierarchy(FOLDER / f"adult_hierarchy_{name}.csv") for name in columns}


def repairs(frame: pd.DataFrame) -> None:
    columns = list(frame)
    roles = {name: "sensitive" if name == SENSITIVE else "quasi_identifier" for name in columns}
    plans: list[tuple[str, dict[str, Any], list[tuple[str, Any, dict[str, Any]]]]] = [
        (
            "all weights 1",
            {},
            [
                ("greedy_repair, 0.5% false rows", pp.greedy_repair, {"max_false_share": 0.005}),
                ("greedy_repair, 2%", pp.greedy_repair, {"max_false_share": 0.02}),
                ("fill_holes up to size 3", pp.fill_holes, {"max_size": 3}),
            ],
        ),
        (
            f"{SENSITIVE} sensitive, the others known and harmless",
            {"roles": roles},
            [
                ("greedy_repair, 1%", pp.greedy_repair, {"max_false_share": 0.01}),
                ("greedy_repair, 5%", pp.greedy_repair, {"max_false_share": 0.05}),
            ],
        ),
    ]
    print(f"{'repair':40s} false rows   average   highest   improved   worse   seconds")
    for title, weights, tried in plans:
        before = pp.privacy_score(frame, attributes=columns, **weights)
        print(f"{title:40s} {'':10s} {before.average:9.5f} {before.maximum:9.4f}")
        for name, function, options in tried:
            start = time.process_time()
            found = function(frame, attributes=columns, measure="maximum", wanted=0, **weights, **options)
            improved = int(found.counts[found.after < found.before - TOLERANCE].sum())
            worse = int(found.counts[found.after > found.before + TOLERANCE].sum())
            print(
                f"  {name:38s} {found.false_rows:10,} {found.average_after:9.5f} {found.maximum_after:9.4f} "
                f"{improved:10,} {worse:7,} {time.process_time() - start:9.1f}",
                flush=True,
            )


def generalized(frame: pd.DataFrame) -> None:
    columns = list(frame)
    known = [name for name in columns if name not in (SENSITIVE, "salary-class")]
    roles = dict.fromkeys(known, "quasi_identifier") | {SENSITIVE: "sensitive", "salary-class": "sensitive"}
    given = hierarchies(known)

    def required(k: int, diverse: int = 1) -> dict[str, Any]:
        asked = [pp.require("k_anonymity", at_least=k)]
        for name in (SENSITIVE, "salary-class") if diverse > 1 else ():
            asked.append(pp.require("l_diversity", at_least=diverse, sensitive=name))
        return {"hierarchies": given, "requirements": asked, "max_suppression": 0.05}

    tables: dict[str, Any] = {"as it is": frame}
    for k in (2, 5, 11, 50):
        tables[f"generalize, k = {k}"] = pp.generalize(frame, **required(k), loss="loss_metric").apply(frame)
        tables[f"generalize_locally, k = {k}"] = pp.generalize_locally(frame, **required(k)).apply(frame)
    tables["generalize, k = 5, l = 2"] = pp.generalize(frame, **required(5, 2), loss="loss_metric").apply(frame)
    tables["generalize_locally, k = 5, l = 2"] = pp.generalize_locally(frame, **required(5, 2)).apply(frame)
    print(f"\n{'table':34s}   rows   average   highest   at 0.5 or more   all weights 1: average   highest")
    for name, table in tables.items():
        found = pp.privacy_score(table, attributes=columns, roles=roles)
        worst = pp.privacy_score(table, attributes=columns, budget=2_000_000_000)
        bound = "" if worst.complete else " (upper ends)"
        print(
            f"{name:34s} {len(table):6,} {found.average:9.4f} {found.maximum:9.4f} {found.threshold_count(0.5):8,} "
            f"({float(found.threshold_share(0.5)):6.2%}) {worst.average:22.4f} {worst.maximum:9.4f}{bound}",
            flush=True,
        )


def main() -> None:
    if not FOLDER.exists():
        print("skipped: Adult not found; set PRIVACY_PLUGIN_DATA")
        return
    frame = read()
    repairs(frame)
    generalized(frame)


if __name__ == "__main__":
    main()
