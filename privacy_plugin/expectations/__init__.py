"""Privacy requirements as Great Expectations: one file an expectation, all over one base.

Importing this package registers every expectation with GX. GX has no other way to learn of them: a stored suite that
is loaded without this import loses our expectations and reports success on the rest, which is why
`privacy_plugin.expectations.checkpoint` counts them.
"""

import os
import pkgutil
from importlib import import_module
from typing import Any

os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")  # older versions of GX read it when they are imported

try:
    from great_expectations.expectations.expectation import Expectation
except ModuleNotFoundError as problem:
    if problem.name != "great_expectations":
        raise
    words = "this needs Great Expectations: pip install 'privacy-plugin[gx]'"
    raise ModuleNotFoundError(words, name="great_expectations") from None
except SystemExit:  # pyspark without its connect parts ends a process that has no main file, with exit code 0
    raise ImportError("importing great_expectations would end this process; install privacy-plugin[spark]") from None


def _expectations() -> dict[str, type[Expectation]]:
    """Import every file of this folder; a file that declares an expectation is all it takes to add one."""
    found: dict[str, type[Expectation]] = {}
    for module in pkgutil.iter_modules(__path__):
        declared = vars(import_module(f"{__name__}.{module.name}"))
        found |= {name: value for name, value in declared.items() if name.startswith("ExpectTable")}
    return found


_EXPECTATIONS = _expectations()

__all__ = sorted(_EXPECTATIONS)


def __getattr__(name: str) -> Any:
    if name not in _EXPECTATIONS:
        raise AttributeError(f"module 'privacy_plugin.expectations' has no attribute {name!r}")
    return _EXPECTATIONS[name]


def __dir__() -> list[str]:
    return sorted(__all__)
