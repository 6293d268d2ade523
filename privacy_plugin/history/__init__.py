"""The release history: what was released of a dataset before, and about whom."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privacy_plugin.history.release_history import RecordedRelease, ReleaseHistory

__all__ = ["RecordedRelease", "ReleaseHistory"]


def __getattr__(name: str) -> Any:
    """Import SQLAlchemy only when a history is used."""
    if name in __all__:
        return getattr(import_module("privacy_plugin.history.release_history"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
