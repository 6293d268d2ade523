"""Tables and policies for tests over several releases."""

import itertools
import random
from collections.abc import Mapping, Sequence
from functools import cache

import pandas as pd

import privacy_plugin as pp

KEY = b"a key that is only for tests 0123"

# Every class has three values, every intersection of classes two values, every joint class two people.
EIGHT = {"a": "H", "b": "H", "c": "f", "d": "g", "e": "f", "f": "k", "g": "k", "h": "g"}


def release_of(classes: Sequence[str], values: Mapping[str, str]) -> pd.DataFrame:
    """Return a table of people, one letter each, in the given classes."""
    rows = [(person, f"class {number}", values[person]) for number, each in enumerate(classes) for person in each]
    return pd.DataFrame(rows, columns=["person", "age", "disease"])


def policy_of(*requirements: dict, unit: bool = True, dataset: str = "visits") -> pp.Policy:
    """Return a policy of people, age and disease."""
    columns = {"age": "quasi_identifier", "disease": "sensitive"}
    return pp.Policy.from_dict(
        {
            "dataset": dataset,
            "columns": {**({"person": "unit"} if unit else {}), **columns},
            "requirements": [{"k_anonymity": {"at_least": 2}}, *requirements],
        }
    )


AGES = {"intervals": {"start": 0, "stop": 4, "widths": [2]}}


def together_policy(method: str = "generalize_locally", **options: object) -> pp.Policy:
    """Return a policy whose releases continue the earlier ones."""
    return pp.Policy.from_dict(
        {
            "dataset": "visits",
            "columns": {
                "person": "unit",
                "age": {"role": "quasi_identifier", "hierarchy": AGES},
                "disease": "sensitive",
            },
            "requirements": [
                {"k_anonymity": {"at_least": 2}},
                {"l_diversity": {"variant": "distinct", "at_least": 2}},
                {"across_releases": {}},
            ],
            "anonymize": {"method": method, "releases": "together", "max_suppression": 1.0, **options},
        }
    )


_NAMES = itertools.count()


@cache
def _shared_history() -> pp.ReleaseHistory:
    return pp.ReleaseHistory("sqlite://", key=KEY)


def recorded(releases: Sequence[pd.DataFrame]) -> tuple[pp.ReleaseHistory, str]:
    """Record releases of a new dataset in a history that tests share; returns both."""
    policy = policy_of(dataset=f"visits {next(_NAMES)}")
    for table in releases:
        _shared_history().reserve(table, policy=policy)
    return _shared_history(), policy.dataset


def history_of(releases: Sequence[pd.DataFrame], policy: pp.Policy) -> pp.ReleaseHistory:
    """Return a history in which these releases were recorded."""
    history = pp.ReleaseHistory("sqlite://", key=KEY)
    for table in releases:
        history.record(table, policy=policy)
    return history


def tiny_history(generator: random.Random) -> tuple[dict[str, str], list[dict[str, int]]]:
    """Draw values of at most six people, and up to three releases: the class of everybody who is in them."""
    people = "abcdef"[: generator.randint(3, 6)]
    values = {person: generator.choice("HfgT"[: generator.randint(2, 3)]) for person in people}
    releases = []
    for _ in range(generator.randint(1, 3)):
        classes = {person: generator.randrange(2) for person in people if generator.random() < 0.85}
        releases.append(classes or {people[0]: 0})
    return values, releases


def frame_of(release: Mapping[str, int], values: Mapping[str, str]) -> pd.DataFrame:
    """Return a release as a table."""
    rows = [(person, number, values[person]) for person, number in release.items()]
    return pd.DataFrame(rows, columns=["person", "age", "disease"])
