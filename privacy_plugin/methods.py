"""The ways to anonymize that a policy can name: what they are told, what they cost, and how they draw.

An option of a method is a keyword of the function behind it; what a policy says is checked when it is loaded.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal, get_args, get_origin

from privacy_plugin.anonymizers.epsilon_safe import prepare
from privacy_plugin.anonymizers.losses import LOSSES
from privacy_plugin.anonymizers.synthesis import chosen_model
from privacy_plugin.errors import ParameterError, unknown_name
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.randomized import epsilon_safe_lattice, lattice_cost
from privacy_plugin.spending import Cost
from privacy_plugin.synthesizing import require_synthesis, synthesis_cost, synthesize

# What the policy's columns, the door and the ledger supply; a policy does not name them.
_SUPPLIED = ("data", "hierarchies", "columns", "generator", "ledger", "dataset")

Hierarchies = Mapping[str, Hierarchy]


@dataclass(frozen=True, kw_only=True)
class Draw(ABC):
    """A randomized method with its options and columns, ready to be checked against data and drawn."""

    options: Mapping[str, Any]
    columns: tuple[str, ...]
    hierarchies: Hierarchies = field(repr=False)

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """What the draw is going to spend."""

    @abstractmethod
    def prepared(self, table: FrequencyTable, generator: Any) -> Callable[[], Any]:
        """Refuse whatever the draw would refuse, while no budget is spent, and return what draws.

        What is drawn has `frequencies` and tells about itself with `to_dict`.
        """


class LatticeDraw(Draw):
    """epsilon-safe lattice anonymization: every published column is generalized, so every one has a hierarchy."""

    @cached_property
    def cost(self) -> Cost:
        """The choice of the generalization, and the sampling."""
        lacking = [name for name in self.columns if name not in self.hierarchies]
        if lacking:
            raise ParameterError(
                f"epsilon_safe publishes generalized columns only; {', '.join(map(repr, lacking))} must be a "
                "quasi_identifier with a hierarchy, or an identifier, which is left out"
            )
        told = ("k", "beta", "epsilon", "interpolation")
        return lattice_cost(**{name: value for name, value in self.options.items() if name in told})

    def prepared(self, table: FrequencyTable, generator: Any) -> Callable[[], Any]:
        """Look for values that no hierarchy covers, too few rows, and the rest."""
        chosen = {name: self.hierarchies[name] for name in self.columns}
        return prepare(table, hierarchies=chosen, **self.options, generator=generator).draw


class SynthesisDraw(Draw):
    """A synthetic table of all released columns."""

    @cached_property
    def cost(self) -> Cost:
        """What a row costs, whatever unit is protected."""
        told = {"delta": 1e-6, "unit": "row", **self.options}
        chosen_model(told.get("model"), told.get("given"), unit=told["unit"])
        return synthesis_cost(
            epsilon=told["epsilon"], delta=told["delta"], unit=told["unit"], columns=len(self.columns)
        )

    def prepared(self, table: FrequencyTable, generator: Any) -> Callable[[], Any]:
        """Look for values outside their declared domain, tables that are too large, and the rest."""
        require_synthesis(table, **self.options)
        return partial(synthesize, table, columns=list(self.columns), **self.options, generator=generator)


@dataclass(frozen=True, kw_only=True)
class Method:
    """A way to anonymize, by the name that policies use; a randomized one says how it draws."""

    name: str
    function: Callable[..., Any] | None = None
    draw: type[Draw] | None = None

    @property
    def randomized(self) -> bool:
        """Whether it draws at random, and so spends privacy budget."""
        return self.draw is not None

    @property
    def options(self) -> Mapping[str, inspect.Parameter]:
        """The keywords a policy may give."""
        if self.function is None:
            return _GENERALIZE
        given = inspect.signature(self.function).parameters.items()
        return {name: option for name, option in given if name not in _SUPPLIED}

    def read(self, given: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
        """Check what a policy says of the method: names, what is lacking, and every value."""
        for name in given:
            if name not in self.options:
                raise ParameterError(unknown_name(f"option of {self.name}", str(name), [*self.options, "method"]))
        lacking = [n for n, o in self.options.items() if o.default is inspect.Parameter.empty and n not in given]
        if lacking:
            raise ParameterError(f"{self.name} needs {', '.join(lacking)}")
        return {name: _read(name, value, self.options[name], columns) for name, value in given.items()}


def _keyword(name: str, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)


_GENERALIZE = {"max_suppression": _keyword("max_suppression", 0.0), "loss": _keyword("loss", "precision")}

METHODS = {
    method.name: method
    for method in (
        Method(name="generalize"),
        Method(name="epsilon_safe", function=epsilon_safe_lattice, draw=LatticeDraw),
        Method(name="synthesize", function=synthesize, draw=SynthesisDraw),
    )
}


def find_method(name: Any) -> Method:
    """Return a method by name, or say which there are."""
    if not isinstance(name, str) or name not in METHODS:
        raise ParameterError(unknown_name("method", str(name), METHODS))
    return METHODS[name]


def _read(name: str, value: Any, option: inspect.Parameter, columns: Sequence[str]) -> Any:
    if value is None and option.default is None:
        return None
    reader = _READERS.get(name)
    if reader is not None:
        return reader(name, value, columns)
    choices = _choices(option.annotation)
    if choices and value not in choices:
        raise ParameterError(unknown_name(name, str(value), [str(choice) for choice in choices]))
    if not isinstance(value, str | int | float):
        raise ParameterError(f"{name} must be a plain value, not {type(value).__name__}")
    return value


def _choices(annotation: Any) -> list[Any]:
    """Return what a Literal allows, also inside of a union."""
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [choice for part in get_args(annotation) for choice in _choices(part)]


def _positive(name: str, value: Any, _: Sequence[str]) -> Any:
    if exact(value, what=name) <= 0:
        raise ParameterError(f"{name} must be positive, not {value!r}")
    return value


def _share(name: str, value: Any, _: Sequence[str]) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ParameterError(f"{name} must lie between 0 and 1, not {value!r}")
    return value


def _inner_share(name: str, value: Any, _: Sequence[str]) -> Any:
    if not 0 < exact(value, what=name) < 1:
        raise ParameterError(f"{name} must lie between 0 and 1, both excluded, not {value!r}")
    return value


def _loss(name: str, value: Any, _: Sequence[str]) -> Any:
    if not isinstance(value, str) or value not in LOSSES:
        raise ParameterError(unknown_name(name, str(value), LOSSES))
    return value


def _whole(name: str, value: Any, _: Sequence[str]) -> Any:
    if isinstance(value, bool) or not isinstance(value, int) or value < 2:
        raise ParameterError(f"{name} must be a whole number of at least 2, not {value!r}")
    return value


def _column(name: str, value: Any, columns: Sequence[str]) -> Any:
    if value not in columns:
        raise ParameterError(unknown_name(f"column in {name}", str(value), columns))
    return value


def _domains(name: str, value: Any, columns: Sequence[str]) -> Any:
    if not isinstance(value, Mapping):
        raise ParameterError(f"{name} must list the values of columns: {{column: [value, ...]}}")
    for column, values in value.items():
        _column(name, column, columns)
        if not isinstance(values, list | tuple) or not values:
            raise ParameterError(f"{name} of column {column!r} must be a list of its values")
    return {column: list(values) for column, values in value.items()}


def _interpolation(name: str, value: Any, columns: Sequence[str]) -> Any:
    if value == "levels":
        return value
    if not isinstance(value, list | tuple) or len(value) != 2 or not isinstance(value[1], int):
        raise ParameterError(f"{name} must be levels, or a pair of a column and a level")
    return _column(name, value[0], columns), value[1]


_READERS: Mapping[str, Callable[[str, Any, Sequence[str]], Any]] = {
    "max_suppression": _share,
    "loss": _loss,
    "k": _whole,
    "beta": _inner_share,
    "epsilon": _positive,
    "delta": _inner_share,
    "penalty": _positive,
    "given": _column,
    "domains": _domains,
    "interpolation": _interpolation,
}
