"""Compiled functions whose code is found again where the package is read-only, and that never fail because of a cache.

numba keeps compiled code only in folders that it can write to: of an image whose packages are read-only it would
neither find the code that `privacy-plugin compile` has left there, nor start at all without a home directory. Code for
another processor than this one is a miss: it is compiled again, and kept where that is possible.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

import numba
from numba.core import caching as numba_caching

Function = TypeVar("Function", bound=Callable[..., Any])

caching: Any = numba_caching  # has no types


class _ReadOnlyLocator(caching.InTreeCacheLocator):  # type: ignore[misc]
    """The folder next to the module, if it has compiled code and cannot be written to."""

    @classmethod
    def from_function(cls, function: Any, file: str) -> Any:
        found = cls(function, file)
        return found if any(Path(found.get_cache_path()).glob("*.nbi")) else None


class _Implementation(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes: ClassVar[list[Any]] = [
        caching.UserProvidedCacheLocator,
        caching.InTreeCacheLocator,
        _ReadOnlyLocator,
        caching.UserWideCacheLocator,
    ]


class _Cache(caching.FunctionCache):  # type: ignore[misc]
    """numba's cache; what it cannot keep or read is compiled again."""

    _impl_class = _Implementation

    def load_overload(self, signature: Any, context: Any) -> Any:
        with suppress(OSError):
            return super().load_overload(signature, context)
        return None

    def save_overload(self, signature: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(signature, data)


def njit(**options: Any) -> Callable[[Function], Function]:
    """Compile a function when it is first called, and keep the code for later processes."""

    def compile_later(function: Function) -> Function:
        dispatcher = numba.njit(**options)(function)
        with suppress(RuntimeError):  # no folder at all: the code lives as long as the process
            dispatcher._cache = _Cache(function)
        return cast(Function, dispatcher)

    return compile_later
