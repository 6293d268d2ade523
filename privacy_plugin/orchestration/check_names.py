"""The names of a gate's checks: one a requirement, told apart by metric, options and sensitive column."""

import re
from collections.abc import Sequence

from privacy_plugin.requirements.requirement import Requirement

STRUCTURE = "privacy_structure"
GREAT_EXPECTATIONS = "great_expectations"


def check_names(requirements: Sequence[Requirement]) -> tuple[str, ...]:
    """Name the checks of some requirements; a limit is no part of a name, so that plots outlive its change.

    >>> from privacy_plugin.requirements.requirement import require
    >>> check_names([require("k_anonymity", at_least=5), require("l_diversity", variant="entropy", at_least=2)])
    ('k_anonymity', 'l_diversity_entropy')
    """
    names: list[str] = []
    taken = {STRUCTURE, GREAT_EXPECTATIONS}
    for requirement in requirements:
        stem = _stem(requirement)
        name, number = stem, 1
        while name in taken:
            number += 1
            name = f"{stem}_{number}"
        taken.add(name)
        names.append(name)
    return tuple(names)


def _stem(requirement: Requirement) -> str:
    stated = str(requirement).removesuffix(str(requirement.limit))
    return re.sub(r"\W+", "_", stated, flags=re.ASCII).strip("_")
