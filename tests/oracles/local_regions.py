"""The least loss of any division into regions, by trying all of them: for tables of a few combinations."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

Path = Sequence[str]
Row = tuple[Any, ...]


def partitions(items: Sequence[Any]) -> Iterator[list[list[Any]]]:
    """All ways to divide distinct items into non-empty groups."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for smaller in partitions(rest):
        for place, group in enumerate(smaller):
            yield [*smaller[:place], [first, *group], *smaller[place + 1 :]]
        yield [[first], *smaller]


def lowest_label(values: Sequence[Any], paths: Mapping[Any, Path]) -> tuple[int, str] | None:
    """Level and text of the most specific label that all values share."""
    if len(set(values)) == 1:
        return 0, str(values[0])
    for level in range(len(next(iter(paths.values())))):
        texts = {paths[value][level] for value in values}
        if len(texts) == 1:
            return level + 1, texts.pop()
    return None


def label_loss(level: int, text: str, paths: Mapping[Any, Path]) -> Fraction:
    """(leaves covered - 1) / (leaves - 1)."""
    if level == 0 or len(paths) == 1:
        return Fraction(0)
    covered = sum(path[level - 1] == text for path in paths.values())
    return Fraction(covered - 1, len(paths) - 1)


def least_loss(
    rows: Sequence[Row],
    hierarchies: Sequence[Mapping[Any, Path]],
    passes: Callable[[Sequence[Row]], bool],
) -> Fraction | None:
    """The least mean loss of a division of the combinations in which every class of equal labels passes.

    A row is its quasi-identifiers followed by anything else; `passes` judges the rows of one class.
    """
    width = len(hierarchies)
    combos = sorted({row[:width] for row in rows})
    members = {combo: [row for row in rows if row[:width] == combo] for combo in combos}
    best: Fraction | None = None
    for division in partitions(combos):
        classes: dict[tuple[Any, ...], list[Row]] = {}
        lost = Fraction(0)
        for group in division:
            labels = [lowest_label([combo[c] for combo in group], hierarchies[c]) for c in range(width)]
            if None in labels:
                break
            inside = [row for combo in group for row in members[combo]]
            classes.setdefault(tuple(one[1] for one in labels if one), []).extend(inside)
            lost += len(inside) * sum(
                (label_loss(*one, hierarchies[c]) for c, one in enumerate(labels) if one), Fraction(0)
            )
        else:
            if all(passes(inside) for inside in classes.values()):
                loss = lost / (len(rows) * width)
                best = loss if best is None else min(best, loss)
    return best


def class_sizes(rows: Sequence[Row], width: int) -> Counter[Any]:
    """Rows of every class of a released table."""
    return Counter(row[:width] for row in rows)
