"""People with several rows, from the definitions: worlds, covers and shares."""

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations, permutations, product

Row = tuple[str, str, str]  # person, class, value


def classes_of(rows: Iterable[Row], count: str) -> dict[object, dict[str, frozenset[str]]]:
    """Return the people of every class with their values; with sequences a person's class is the set of theirs."""
    listed = list(rows)
    found: dict[object, dict[str, frozenset[str]]] = {}
    if count == "people":
        for place in {row[1] for row in listed}:
            names = {row[0] for row in listed if row[1] == place}
            found[place] = {n: frozenset(r[2] for r in listed if r[0] == n and r[1] == place) for n in names}
        return found
    for name in {row[0] for row in listed}:
        sequence = frozenset(row[1] for row in listed if row[0] == name)
        found.setdefault(sequence, {})[name] = frozenset(row[2] for row in listed if row[0] == name)
    return found


def cover(rows: Iterable[Row], count: str) -> int:
    """Return the fewest values that cover everybody of a class, over all classes, by trying all sets of values."""
    listed = list(rows)
    values = sorted({row[2] for row in listed})
    return min(
        next(
            size
            for size in range(1, len(values) + 1)
            if any(all(set(chosen) & owned for owned in people.values()) for chosen in combinations(values, size))
        )
        for people in classes_of(listed, count).values()
    )


def largest_share(rows: Iterable[Row], count: str) -> Fraction:
    """Return the largest probability of a value, over worlds in which the people of a class exchange their values."""
    largest = Fraction(0)
    for people in classes_of(rows, count).values():
        names, owned = list(people), list(people.values())
        worlds = list(permutations(owned)) if len(owned) <= 6 else [tuple(owned)]
        for value in frozenset().union(*owned):
            hits = [sum(value in world[position] for world in worlds) for position in range(len(names))]
            assert len(worlds) == 1 or len(set(hits)) == 1  # everybody of the class has the same risk
            share = Fraction(sum(value in each for each in owned), len(owned))
            largest = max(largest, share)
    return largest


def unlinked_risk(rows: Iterable[Row], *, same_sequence: bool) -> Fraction:
    """Return the largest probability of a value in one of a person's rows, over worlds that deal every class anew.

    A world deals the sets of values of a class to its people; with `same_sequence`, only among people who have the
    same set of classes.
    """
    listed = list(rows)
    by_class = classes_of(listed, "people")
    sequence = {row[0]: frozenset(r[1] for r in listed if r[0] == row[0]) for row in listed}
    decks = []
    for place, people in by_class.items():
        groups: dict[object, list[str]] = {}
        for name in sorted(people):
            groups.setdefault(sequence[name] if same_sequence else place, []).append(name)
        decks += [[dict(zip(g, [people[n] for n in p], strict=True)) for p in permutations(g)] for g in groups.values()]
    worlds = list(product(*decks))
    values = {row[2] for row in listed}
    return max(
        Fraction(sum(any(value in deal.get(name, ()) for deal in world) for world in worlds), len(worlds))
        for name in sequence
        for value in values
    )
