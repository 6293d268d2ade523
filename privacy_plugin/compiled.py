"""Compiled functions whose code is found again where the package is read-only, and that never fail because of a cache.

numba keeps compiled code only in folders that it can write to: of an image whose packages are read-only it would
neither find the code that `privacy-plugin compile` has left there, nor start at all without a home directory. Code for
another processor than this one is a miss: it is compiled again, and kept where that is possible.

To compile a loop takes seconds, and to import numba a quarter of one. So the loops of a gate (`njit_later`) run in
Python, as the same functions, until a process has used up `INTERPRETED_STEPS` of them.
"""

from collections.abc import Callable
from contextlib import suppress
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])

INTERPRETED_STEPS = 200_000
"""So many steps of loops take about as long in Python as numba takes to be imported."""

_spent = 0


def njit(**options: Any) -> Callable[[Function], Function]:
    """Compile a function when it is first called, and keep the code for later processes."""

    def compile_later(function: Function) -> Function:
        return cast(Function, _dispatch(function, options))

    return compile_later


def njit_later(*, steps: Callable[..., float] | None = None, **options: Any) -> Callable[[Function], Function]:
    """Compile a function when the process has run too many steps of such loops in Python.

    `steps` estimates the steps of one call from its arguments. A function without it is called by others like it only.
    """

    def interpret_first(function: Function) -> Function:
        return cast(Function, _Later(function, steps, options))

    return interpret_first


class _Later:
    """A function that is interpreted first and compiled later."""

    def __init__(self, function: Any, steps: Callable[..., float] | None, options: dict[str, Any]) -> None:
        self.__doc__, self.__name__, self.__module__ = function.__doc__, function.__name__, function.__module__
        self._function: FunctionType = function
        self._steps, self._options = steps, options
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        global _spent
        if self._dispatcher is None:
            if self._steps is None:
                return self._function(*arguments)
            steps = self._steps(*arguments)
            if _spent + steps <= INTERPRETED_STEPS:
                _spent += int(steps)
                with np.errstate(all="ignore"):  # compiled code does not warn
                    return self._function(*arguments)
        return self.dispatcher()(*arguments)

    def dispatcher(self) -> Any:
        """Return numba's function; the functions that it calls are replaced in their module by theirs."""
        if self._dispatcher is None:
            known = self._function.__globals__
            for name in self._function.__code__.co_names:
                if isinstance(known.get(name), _Later):
                    known[name] = known[name].dispatcher()
            self._dispatcher = _dispatch(self._function, self._options)
        return self._dispatcher


def _dispatch(function: Any, options: dict[str, Any]) -> Any:
    import numba  # it loads slowly

    from privacy_plugin.code_cache import CodeCache

    dispatcher = numba.njit(**options)(function)
    with suppress(RuntimeError):  # no folder at all: the code lives as long as the process
        dispatcher._cache = CodeCache(function)
    return dispatcher
