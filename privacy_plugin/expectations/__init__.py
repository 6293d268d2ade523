"""Privacy requirements as Great Expectations: one file per expectation, all over one base.

Importing this package registers every expectation with GX, which has no other discovery: a stored suite that is loaded
without this import loses our expectations and reports success on the rest. `privacy_plugin.expectations.checkpoint`
therefore counts them.
"""

import os
import pkgutil
from importlib import import_module
from typing import Any

os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")  # older versions of GX read it at import

try:
    from great_expectations.expectations.expectation import Expectation
except ModuleNotFoundError as problem:
    if problem.name != "great_expectations":
        raise
    message = "privacy_plugin.expectations needs Great Expectations: pip install 'privacy-plugin[gx]'"
    raise ModuleNotFoundError(message, name="great_expectations") from None
except SystemExit:  # pyspark without its connect extra exits a process that has no main file, with exit code 0
    raise ImportError(
        "importing great_expectations would exit this process; pip install 'privacy-plugin[spark]'"
    ) from None


def _find_expectations() -> dict[str, type[Expectation]]:
    """Import every module of this folder and return its expectations; a new file is found without registration."""
    found: dict[str, type[Expectation]] = {}
    for module in pkgutil.iter_modules(__path__):
        declared = vars(import_module(f"{__name__}.{module.name}"))
        found |= {name: value for name, value in declared.items() if name.startswith("ExpectTable")}
    return found


_EXPECTATIONS = _find_expectations()

__all__ = sorted(_EXPECTATIONS)


def __getattr__(name: str) -> Any:
    if name not in _EXPECTATIONS:
        raise AttributeError(f"module 'privacy_plugin.expectations' has no attribute {name!r}")
    return _EXPECTATIONS[name]


def __dir__() -> list[str]:
    return sorted(__all__)
