"""What an anonymizer makes, for tests of every anonymizer."""

from typing import Any, get_args, get_type_hints

from privacy_plugin.anonymizers.base import Anonymizer, RandomizedMethod, RecodingMethod


def result_of(anonymizer: type[Anonymizer]) -> Any:
    """Return the class of what an anonymizer makes, as its method is annotated."""
    if issubclass(anonymizer, RandomizedMethod):
        return get_args(get_type_hints(anonymizer.prepare)["return"])[-1]
    if issubclass(anonymizer, RecodingMethod):
        return get_type_hints(anonymizer.search)["return"]
    return get_type_hints(anonymizer.function)["return"]
