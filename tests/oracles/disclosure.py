"""Disclosure by brute force over all worlds, from the definitions of Martin et al. (ICDE 2007) alone.

A table is a list of buckets, a bucket a list of the sensitive values of its people. A world hands the
values of each bucket to its people; all worlds are equally likely. A set of worlds is an integer with one
bit a world, so a piece of knowledge is the set of worlds it allows, and knowledge with the same worlds is
the same knowledge.

What is enumerated: `general_maximum` every conjunction of k basic implications (any non-empty conjunction
of atoms implies any non-empty disjunction of atoms, over everybody and every value of the table), for about
a dozen worlds; `simple_maximum` every conjunction of k implications with one atom on each side, for some
dozens of worlds; `shared_maximum` every k antecedents of one common consequent; `partition_curve` and
`partition_classes` the closed formula over every partition of atoms, without dynamic programming.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product

Table = list[list[str]]
AtomKey = tuple[int, int, str]


def worlds_of(table: Table) -> list[tuple[tuple[str, ...], ...]]:
    return list(product(*(sorted(set(permutations(bucket))) for bucket in table)))


def atom_sets(table: Table) -> dict[AtomKey, int]:
    """The worlds in which each (bucket, person, value) holds, for every value of the whole table."""
    worlds = worlds_of(table)
    values = sorted({value for bucket in table for value in bucket})
    return {
        (bucket, person, value): sum(1 << index for index, world in enumerate(worlds) if world[bucket][person] == value)
        for bucket in range(len(table))
        for person in range(len(table[bucket]))
        for value in values
    }


def general_maximum(table: Table, knowledge: int, bucket: int | None = None) -> Fraction:
    atoms = set(atom_sets(table).values())
    everything = (1 << len(worlds_of(table))) - 1
    antecedents = _closure(atoms, lambda left, right: left & right)
    consequents = _closure(atoms, lambda left, right: left | right)
    units = {(everything & ~left) | right for left in antecedents for right in consequents}
    return _maximum(table, units, knowledge, bucket)


def simple_maximum(table: Table, knowledge: int) -> Fraction:
    atoms = set(atom_sets(table).values())
    everything = (1 << len(worlds_of(table))) - 1
    units = {(everything & ~left) | right for left in atoms for right in atoms}
    return _maximum(table, units, knowledge)


def negation_maximum(table: Table, knowledge: int, bucket: int | None = None) -> Fraction:
    everything = (1 << len(worlds_of(table))) - 1
    # At most k facts: where everybody has the same value, no k negations leave a world.
    units = {everything} | {everything & ~atom for atom in atom_sets(table).values()}
    return _maximum(table, units, knowledge, bucket)


def weighted_maximum(table: Table, weights: dict[str, Fraction], knowledge: int, attacker: str) -> list[Fraction]:
    """The highest weight times probability of an atom of each bucket, over all conjunctions of k units."""
    atoms = atom_sets(table)
    everything = (1 << len(worlds_of(table))) - 1
    if attacker == "negations":
        units = {everything} | {everything & ~atom for atom in atoms.values()}
    else:
        antecedents = _closure(set(atoms.values()), lambda left, right: left & right)
        consequents = _closure(set(atoms.values()), lambda left, right: left | right)
        units = {(everything & ~left) | right for left in antecedents for right in consequents}
    reached = {everything}
    for _ in range(knowledge):
        reached = {before & unit for before in reached for unit in units}
    return [
        max(
            weights[value] * Fraction((allowed & atom).bit_count(), allowed.bit_count())
            for allowed in reached
            if allowed
            for (where, _, value), atom in atoms.items()
            if where == bucket
        )
        for bucket in range(len(table))
    ]


def weighted_shared_maximum(table: Table, weights: dict[str, Fraction], knowledge: int) -> list[Fraction]:
    """The same for k antecedents of one common consequent, which is enough for each consequent by itself."""
    atoms = atom_sets(table)
    everything = (1 << len(worlds_of(table))) - 1
    sets = sorted(set(atoms.values()))
    best = [Fraction(0)] * len(table)
    # Only the worlds without the target lose by an implication: those where all antecedents are false are left.
    for chosen in combinations_with_replacement(sets, knowledge):
        denied = 0
        for antecedent in chosen:
            denied |= antecedent
        for (bucket, _, value), target in atoms.items():
            left = (everything & ~denied & ~target).bit_count()
            held = target.bit_count()
            if held:
                best[bucket] = max(best[bucket], weights[value] * Fraction(held, held + left))
    return best


def shared_maximum(table: Table, knowledge: int) -> Fraction:
    atoms = sorted(set(atom_sets(table).values()))
    everything = (1 << len(worlds_of(table))) - 1
    best = Fraction(0)
    for target in atoms:
        for chosen in combinations_with_replacement(atoms, knowledge):
            allowed = everything
            for antecedent in chosen:
                allowed &= (everything & ~antecedent) | target
            if allowed:
                best = max(best, Fraction((allowed & target).bit_count(), allowed.bit_count()))
    return best


def posterior(table: Table, implications: list[tuple[list[AtomKey], list[AtomKey]]], target: AtomKey) -> Fraction:
    allowed, atoms = _allowed(table, implications)
    return Fraction((allowed & atoms.get(target, 0)).bit_count(), allowed.bit_count())


def disclosure_risk(table: Table, implications: list[tuple[list[AtomKey], list[AtomKey]]]) -> Fraction | None:
    """The most certain atom given the implications, or None when no world is left."""
    allowed, atoms = _allowed(table, implications)
    if not allowed:
        return None
    return max(Fraction((allowed & atom).bit_count(), allowed.bit_count()) for atom in atoms.values())


def is_recursively_diverse(table: Table, c: Fraction, diversity: int) -> bool:
    """Machanavajjhala et al.: r1 < c (r_l + r_{l+1} + ... + r_m) in every bucket, r sorted descending."""
    for bucket in table:
        counts = sorted((bucket.count(value) for value in set(bucket)), reverse=True)
        if not counts[0] < c * sum(counts[diversity - 1 :]):
            return False
    return True


def partition_curve(histograms: list[list[int]], knowledge: int) -> list[Fraction]:
    """The closed formula of section 3.3, over every way to place every number of atoms."""
    curve = []
    for atoms in range(1, knowledge + 2):
        best: Fraction | None = None
        for spread in _compositions(atoms, len(histograms)):
            chance = Fraction(1)
            for counts, share in zip(histograms, spread, strict=True):
                chance *= least_absence(counts, share)
            for counts, share in zip(histograms, spread, strict=True):
                if share:
                    ratio = chance * Fraction(sum(counts), max(counts))
                    best = ratio if best is None else min(best, ratio)
        assert best is not None
        curve.append(1 / (1 + best))
    return curve


def partition_classes(histograms: list[list[int]], knowledge: int) -> list[Fraction]:
    """The same with the target kept in one bucket after the other, every other bucket named once."""
    found = []
    for target, counts in enumerate(histograms):
        best: Fraction | None = None
        for spread in _compositions(knowledge + 1, len(histograms)):
            if spread[target]:
                ratio = Fraction(sum(counts), max(counts))
                for others, share in zip(histograms, spread, strict=True):
                    ratio *= least_absence(others, share)
                best = ratio if best is None else min(best, ratio)
        assert best is not None
        found.append(1 / (1 + best))
    return found


def least_absence(counts: list[int], atoms: int) -> Fraction:
    size = sum(counts)
    ordered = sorted(counts, reverse=True)
    best = Fraction(1)
    for parts in _partitions(atoms, atoms):
        if len(parts) <= size:
            chance = Fraction(1)
            for person, part in enumerate(parts):
                chance *= Fraction(max(0, size - person - sum(ordered[:part])), size - person)
            best = min(best, chance)
    return best


def _allowed(table: Table, implications: list[tuple[list[AtomKey], list[AtomKey]]]) -> tuple[int, dict[AtomKey, int]]:
    atoms = atom_sets(table)
    allowed = everything = (1 << len(worlds_of(table))) - 1
    for antecedents, consequents in implications:
        left, right = everything, 0
        for atom in antecedents:
            left &= atoms.get(atom, 0)
        for atom in consequents:
            right |= atoms.get(atom, 0)
        allowed &= (everything & ~left) | right
    return allowed, atoms


def _maximum(table: Table, units: set[int], knowledge: int, bucket: int | None = None) -> Fraction:
    """The most certain atom (of one bucket, if given) over all conjunctions of k units."""
    reached = {(1 << len(worlds_of(table))) - 1}
    for _ in range(knowledge):
        reached = {before & unit for before in reached for unit in units}
    atoms = {worlds for atom, worlds in atom_sets(table).items() if bucket is None or atom[0] == bucket}
    return max(
        Fraction((allowed & atom).bit_count(), allowed.bit_count()) for allowed in reached if allowed for atom in atoms
    )


def _closure(sets: set[int], combine: Callable[[int, int], int]) -> set[int]:
    closed = set(sets)
    fresh = set(sets)
    while fresh:
        fresh = {combine(left, right) for left in fresh for right in sets} - closed
        closed |= fresh
    return closed


def _compositions(total: int, places: int) -> Iterator[tuple[int, ...]]:
    if places == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, places - 1):
            yield (first, *rest)


def _partitions(total: int, cap: int) -> Iterator[tuple[int, ...]]:
    if total == 0:
        yield ()
        return
    for first in range(min(total, cap), 0, -1):
        for rest in _partitions(total - first, first):
            yield (first, *rest)
