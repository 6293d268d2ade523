"""numba's cache of compiled code, also found in a read-only package; see `compiled`."""

from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from numba.core import caching as numba_caching

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


class CodeCache(caching.FunctionCache):  # type: ignore[misc]
    """numba's cache; what it cannot keep or read is compiled again."""

    _impl_class = _Implementation

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return compiled code, or None to compile again."""
        with suppress(OSError):
            return super().load_overload(signature, context)
        return None

    def save_overload(self, signature: Any, data: Any) -> None:
        """Keep compiled code where that is possible."""
        with suppress(OSError):
            super().save_overload(signature, data)
