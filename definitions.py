"""The reference pipeline for `dagster dev -f definitions.py`; the code is in `privacy_plugin/demo/definitions.py`."""

from privacy_plugin.demo.definitions import defs

__all__ = ["defs"]
