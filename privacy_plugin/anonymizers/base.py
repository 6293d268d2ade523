"""A method: a way to anonymize that a policy can name, with what the policy says of it.

An option of a method is a keyword of the function behind it; what a policy says is checked when it is loaded.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from privacy_plugin.anonymizers.options import read_option
from privacy_plugin.errors import ParameterError, unknown_name
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.requirements.requirement import Requirement
from privacy_plugin.requirements.rules import Rules


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A way to anonymize, with the options, the rules and the hierarchies of a policy.

    No method proves itself: whatever it made is judged by the gate, on what was written.
    """

    name: ClassVar[str]
    function: ClassVar[Callable[..., Any]]
    supplied: ClassVar[tuple[str, ...]]
    """Keywords of the function that the policy's columns, the door and the ledger fill; a policy does not name them."""
    doing: ClassVar[str]
    done: ClassVar[str]
    """What it does, and what its table then is, in words for people."""
    signed: ClassVar[Mapping[str, str]] = {}
    """Options that a policy must state although the function does without, and what they must say: whoever signs the
    policy answers for them."""
    plans: ClassVar[bool] = False
    """Whether it makes a plan that can be saved and applied again."""

    options: Mapping[str, Any]
    rules: Rules = field(repr=False)
    hierarchies: Mapping[str, Hierarchy] = field(repr=False)

    @classmethod
    def keywords(cls) -> dict[str, inspect.Parameter]:
        """Return the options a policy may give."""
        given = inspect.signature(cls.function).parameters.items()
        return {name: option for name, option in given if name not in cls.supplied}

    @classmethod
    def read(cls, given: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
        """Check what a policy says of the method: names, what is lacking, and every value."""
        known = cls.keywords()
        for name in given:
            if name not in known:
                raise ParameterError(unknown_name(f"option of {cls.name}", str(name), [*known, "method"]))
        lacking = [n for n, o in known.items() if o.default is inspect.Parameter.empty and n not in given]
        if lacking:
            raise ParameterError(f"{cls.name} needs {', '.join(lacking)}")
        for name, words in cls.signed.items():
            if given.get(name) is None:
                raise ParameterError(f"{cls.name} needs {name}: {words}")
        return {name: read_option(name, value, known[name], columns) for name, value in given.items()}

    @abstractmethod
    def require_policy(self) -> None:
        """Refuse a policy that the method cannot serve; nothing but the policy is looked at."""

    def require_usable(self, constant: str | None = None) -> None:
        """Refuse what could not be anonymized; `constant`: a column that has one value throughout (a partition's)."""
        self.require_policy()

    def require_plan(self) -> None:
        """Refuse to save or apply a plan where the method makes none."""
        if not self.plans:
            raise ParameterError(f"{self.name} has no plan to save or apply; a saved plan is a level for every column")

    @property
    def budgets(self) -> list[Requirement]:
        """The requirements on the privacy budget."""
        return [requirement for requirement in self.rules.requirements if requirement.definition.needs_ledger]
