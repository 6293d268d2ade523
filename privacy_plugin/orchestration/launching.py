"""What whoever launches a run may not decide: Dagster lets its configuration replace whatever a resource was given."""

import os
from collections.abc import Mapping
from typing import Any

import dagster as dg

from privacy_plugin.errors import ParameterError


def replaced_at_launch(context: dg.InitResourceContext, values: Mapping[str, str]) -> bool:
    """Tell whether a resource got other values from the configuration of its run than from the definitions."""
    schema = context.resource_def.config_schema if context.resource_def else None
    if schema is None or not schema.default_provided:
        return False
    return any(_resolved(schema.default_value.get(name, value)) != value for name, value in values.items())


def require_as_defined(replaced: bool, what: str) -> None:
    """Refuse a resource that the configuration of a run replaced."""
    if replaced:
        raise ParameterError(
            f"the run's configuration names another {what} than the definitions; launch it without, or change those"
        )


def _resolved(defined: Any) -> Any:
    return os.environ.get(defined["env"]) if isinstance(defined, dict) else defined
