"""All worlds of a tiny history: who can have which value, given every published histogram. No import of the package."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product

Release = Mapping[str, int]  # the class of everybody who is in it


def published(release: Release, values: Mapping[str, str]) -> dict[int, Counter[str]]:
    """Return the histogram of every class."""
    found: dict[int, Counter[str]] = {}
    for person, number in release.items():
        found.setdefault(number, Counter())[values[person]] += 1
    return found


def possible_values(releases: Sequence[Release], values: Mapping[str, str]) -> dict[str, Counter[str]]:
    """Return in how many worlds everybody has each value, over all worlds that lead to the same publications."""
    people = sorted({person for release in releases for person in release})
    domain = sorted({values[person] for person in people})
    truth = [published(release, values) for release in releases]
    found: dict[str, Counter[str]] = {person: Counter() for person in people}
    for drawn in product(domain, repeat=len(people)):
        world = dict(zip(people, drawn, strict=True))
        if [published(release, world) for release in releases] == truth:
            for person, value in world.items():
                found[person][value] += 1
    return found


def joint_classes(releases: Sequence[Release]) -> dict[tuple[int | None, ...], list[str]]:
    """Return the people by their sequence of classes, absence included."""
    people = sorted({person for release in releases for person in release})
    found: dict[tuple[int | None, ...], list[str]] = {}
    for person in people:
        found.setdefault(tuple(release.get(person) for release in releases), []).append(person)
    return found


def invariance(releases: Sequence[Release], values: Mapping[str, str]) -> int:
    """Return the largest m for which the releases are m-invariant, 0 if none."""
    smallest = 10**9
    signatures: dict[str, set[frozenset[str]]] = {}
    for release in releases:
        classes: dict[int, list[str]] = {}
        for person, number in release.items():
            classes.setdefault(number, []).append(person)
        for members in classes.values():
            held = [values[person] for person in members]
            if len(set(held)) < len(held):
                return 0
            smallest = min(smallest, len(held))
            for person in members:
                signatures.setdefault(person, set()).add(frozenset(held))
    return smallest if all(len(found) == 1 for found in signatures.values()) else 0
