"""Presets: named requirements from guidelines with their sources, and notes on presets that contradict."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from privacy_plugin.errors import PolicyError, unknown_name
from privacy_plugin.requirements.requirement import Requirement, require


@cache
def _load_presets() -> dict[str, Any]:
    text = files("privacy_plugin.policy").joinpath("presets.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def preset_names() -> tuple[str, ...]:
    """Return the names of the presets."""
    return tuple(name for name in _load_presets() if name != "notes")


def preset(name: str) -> tuple[Requirement, ...]:
    """Return the requirements of a preset, with its source as their origin."""
    if name not in preset_names():
        raise PolicyError(unknown_name("preset", str(name), preset_names()))
    entry = _load_presets()[name]
    origin = f"preset {name}: {entry['source']}"
    return tuple(
        require(metric, origin=origin, **given) for line in entry["requirements"] for metric, given in line.items()
    )


def find_contradictions(names: Sequence[str]) -> tuple[str, ...]:
    """Return a note for every pair of the given presets that contradict each other."""
    return tuple(entry["note"] for entry in _load_presets()["notes"] if set(entry["presets"]) <= set(names))
