"""Time itemset mining and Krimp on the literature's databases, and plain Python on the small one.

Run from the project's root: python benchmarks/itemsets.py; about two minutes. Times are processor seconds of one
thread; compilation is not timed. What can be compared with the literature: the number of frequent itemsets at 10%
(msnbc: 1%, with frontpage as an item of two values) is exact; compression ratios depend on how ties are ordered
(nursery 41.8 - 46.3). Adult's closed itemsets at support 1 took a throw-away C++ program 6 s to mine and 2.5 s to
compress on the same kind of machine.
"""

import time
from collections.abc import Callable
from typing import Any

from itemset_files import Row, find, grouped, read_database, read_visits

from privacy_plugin.metrics.itemsets.itemsets import closed_itemsets, frequent_itemsets
from privacy_plugin.metrics.itemsets.krimp import krimp

FREQUENT = {"led7": 411, "nursery": 179, "pendigits": 684, "letrecog": 9_172, "adult": 26_573, "msnbc": 99}
BESIDE_PYTHON = ("led7", "nursery", "pendigits")  # it needs minutes for the others
CLOSED = ("led7", "nursery", "adult")
ALL_ITEMSETS = {"adult": 20}  # least support; the literature's 24.4 - 24.6 is for support 1, some 58 million of them
QUOTED_COMPRESSING = {"adult": 2.5}  # seconds of the C++ program, not run here


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    found = work()
    return found, time.process_time() - start


def plain_python(rows: list[Row], support: int) -> int:
    """Depth first over sets of row numbers, with Python's own sets."""
    holders: dict[int, set[int]] = {}
    for number, row in enumerate(rows):
        for item in row:
            holders.setdefault(item, set()).add(number)
    found = 0
    stack = [(set(range(len(rows))), sorted(holders))]
    while stack:
        held, later = stack.pop()
        for position, item in enumerate(later):
            common = held & holders[item]
            if len(common) >= support:
                found += 1
                stack.append((common, later[position + 1 :]))
    return found


def main() -> None:
    small = grouped([(0, 1), (1, 2)])
    krimp(**small, candidates=closed_itemsets(**small, support=1))
    frequent_itemsets(**small, support=1)
    print(f"{'database':<10} {'rows':>7} {'frequent':>16} {'wanted':>7} {'ours':>8} {'Python':>8} {'ratio':>7}")
    for name, wanted in FREQUENT.items():
        path = find("msnbc990928.zip" if name == "msnbc" else f"{name}.db")
        if path is None:
            continue
        rows = read_visits(path) if name == "msnbc" else read_database(path)
        support = -(-len(rows) // (100 if name == "msnbc" else 10))
        data = grouped(rows)
        found, ours = timed(lambda data=data, support=support: frequent_itemsets(**data, support=support))
        shown = f"{name:<10} {len(rows):>7,} {len(found):>16,} {wanted:>7,} {ours:>7.3f}s"
        if name in BESIDE_PYTHON:
            other, theirs = timed(lambda rows=rows, support=support: plain_python(rows, support))
            assert other == len(found)
            shown += f" {theirs:>7.2f}s {theirs / ours:>6.0f}x"
        print(shown)
    print(f"\n{'database':<10} {'candidates':>12} {'code table':>11} {'ratio %':>8} {'mine':>7} {'compress':>9}")
    for name in CLOSED:
        compressed(name, closed_itemsets, 1)
    for name, support in ALL_ITEMSETS.items():
        compressed(name, frequent_itemsets, support)


def compressed(name: str, mine: Callable[..., Any], support: int) -> None:
    path = find(f"{name}.db")
    if path is None:
        return
    data = grouped(read_database(path))
    candidates, mining = timed(lambda: mine(**data, support=support))
    table, compressing = timed(lambda: krimp(**data, candidates=candidates))
    kind = "" if mine is closed_itemsets else f" (all itemsets of support {support})"
    print(
        f"{name:<10} {len(candidates):>12,} {len(table.sets):>11,} {100 * table.ratio:>8.2f} {mining:>6.2f}s "
        f"{compressing:>8.2f}s{kind}"
    )


if __name__ == "__main__":
    main()
