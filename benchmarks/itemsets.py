"""Itemset mining and Krimp on the literature's databases, beside plain Python on the small one.

Run from the project's root: python benchmarks/itemsets.py; under a minute. Times are processor seconds of one thread;
compilation is not timed. What can be compared with the literature: the number of frequent itemsets at 10% is exact;
compression ratios depend on how ties are ordered (nursery 41.8 - 46.3). Adult's closed itemsets at support 1 took a
throw-away C++ program 6 s to mine and 2.5 s to compress on the same kind of machine.
"""

import time
from collections.abc import Callable
from typing import Any

from itemset_files import Row, find, grouped, read_database

from privacy_plugin.kernels.itemsets import closed_itemsets, frequent_itemsets
from privacy_plugin.kernels.krimp import krimp

AT_A_TENTH = {"led7": 411, "nursery": 179, "pendigits": 684, "letrecog": 9_172, "adult": 26_573}
BESIDE_PYTHON = ("led7", "nursery", "pendigits")  # it needs minutes for the others
CLOSED = ("led7", "nursery", "adult")
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
    print(f"{'database':<10} {'rows':>7} {'frequent at 10%':>16} {'wanted':>7} {'ours':>8} {'Python':>8} {'ratio':>7}")
    for name, wanted in AT_A_TENTH.items():
        path = find(f"{name}.db")
        if path is None:
            continue
        rows = read_database(path)
        support = -(-len(rows) // 10)
        data = grouped(rows)
        found, ours = timed(lambda data=data, support=support: frequent_itemsets(**data, support=support))
        shown = f"{name:<10} {len(rows):>7,} {len(found):>16,} {wanted:>7,} {ours:>7.3f}s"
        if name in BESIDE_PYTHON:
            other, theirs = timed(lambda rows=rows, support=support: plain_python(rows, support))
            assert other == len(found)
            shown += f" {theirs:>7.2f}s {theirs / ours:>6.0f}x"
        print(shown)
    print(f"\n{'database':<10} {'closed at 1':>12} {'code table':>11} {'ratio %':>8} {'mine':>7} {'compress':>9}")
    for name in CLOSED:
        path = find(f"{name}.db")
        if path is None:
            continue
        data = grouped(read_database(path))
        closed, mining = timed(lambda data=data: closed_itemsets(**data, support=1))
        table, compressing = timed(lambda data=data, closed=closed: krimp(**data, candidates=closed))
        print(
            f"{name:<10} {len(closed):>12,} {len(table.sets):>11,} {100 * table.ratio:>8.2f} {mining:>6.2f}s "
            f"{compressing:>8.2f}s"
            + (f"   {compressing / QUOTED_COMPRESSING[name]:.1f} x the quoted" if name in QUOTED_COMPRESSING else "")
        )


if __name__ == "__main__":
    main()
