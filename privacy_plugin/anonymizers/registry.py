"""The ways to anonymize that a policy can name."""

from typing import Any

from privacy_plugin.anonymizers.base import Method
from privacy_plugin.anonymizers.randomized_methods import LatticeDraw, ResponseDraw, SynthesisDraw
from privacy_plugin.anonymizers.recoding_methods import LevelRecoder, RegionRecoder
from privacy_plugin.errors import ParameterError, unknown_name

_ALL: tuple[type[Method], ...] = (LevelRecoder, RegionRecoder, LatticeDraw, SynthesisDraw, ResponseDraw)
METHODS = {method.name: method for method in _ALL}


def find_method(name: Any) -> type[Method]:
    """Return a method by name, or say which there are."""
    if not isinstance(name, str) or name not in METHODS:
        raise ParameterError(unknown_name("method", str(name), METHODS))
    return METHODS[name]
