"""A policy that says everything, and the same with something else in one place."""

from copy import deepcopy

COMPLETE = {
    "version": 1,
    "dataset": "visits",
    "columns": {
        "name": "identifier",
        "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"start": 0, "stop": 100, "widths": [10, 50]}}},
        "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 4}}, "why": "public in the register"},
        "disease": "sensitive",
        "income": "sensitive",
        "note": "insensitive",
    },
    "requirements": [
        {"k_anonymity": {"at_least": 5}},
        {"l_diversity": {"variant": "recursive", "c": 2, "at_least": 2, "sensitive": "disease"}},
        {"t_closeness": {"at_most": 0.2, "ground": "ordered"}},
    ],
    "population": "register",
    "anonymize": {"method": "generalize", "max_suppression": 0.05, "loss": "precision"},
}


def changed(**changes):
    """Return the complete policy with something else at a path such as columns__age__role."""
    given = deepcopy(COMPLETE)
    for path, value in changes.items():
        *parents, last = path.split("__")
        inner = given
        for name in parents:
            inner = inner[int(name) if name.isdigit() else name]
        if value is ...:
            del inner[last]
        else:
            inner[int(last) if last.isdigit() else last] = value
    return given
