"""The registry of anonymizers: every method that a policy can name under `anonymize`."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from privacy_plugin.anonymizers.base import Anonymizer
from privacy_plugin.errors import ParameterError, unknown_name

# To add an anonymizer, list its class here; its module, which may load compiled code, is imported when it is used.
_CLASSES = {
    "generalize_locally": "generalize_locally.GeneralizeLocallyMethod",
    "generalize": "generalize.GeneralizeMethod",
    "multidimensional_presence": "multidimensional_presence.MultidimensionalPresenceMethod",
    "bucketize": "bucketization.bucketize.BucketizeMethod",
    "greedy_repair": "repair.greedy_repair.GreedyRepairMethod",
    "fill_holes": "repair.fill_holes.FillHolesMethod",
    "epsilon_safe_lattice": "epsilon_safe.epsilon_safe_lattice.EpsilonSafeLatticeMethod",
    "synthesize": "synthesis.synthesize.SynthesizeMethod",
    "randomized_response": "randomized_response.RandomizedResponseMethod",
    "private_itemsets": "itemsets.private_itemsets.PrivateItemsetsMethod",
    "randomized_itemset_counts": "itemsets.randomized_itemset_counts.RandomizedItemsetCountsMethod",
    "sanitized_krimp": "itemsets.sanitized_krimp.SanitizedKrimpMethod",
}
DEFAULT = "generalize_locally"  # of a policy that names no method
_RENAMED = {"epsilon_safe": "epsilon_safe_lattice"}


class _Registry(Mapping[str, type[Anonymizer]]):
    """The anonymizers by name, each imported when it is looked up."""

    def __getitem__(self, name: str) -> type[Anonymizer]:
        module, _, class_name = _CLASSES[name].rpartition(".")
        found: type[Anonymizer] = getattr(import_module(f"privacy_plugin.anonymizers.{module}"), class_name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


ANONYMIZERS: Mapping[str, type[Anonymizer]] = _Registry()


def find_anonymizer(name: Any) -> type[Anonymizer]:
    """Return the anonymizer of this name; raise ParameterError with the valid names otherwise."""
    if isinstance(name, str) and name in _RENAMED:
        raise ParameterError(f"the method {name!r} is now named {_RENAMED[name]!r}; write method: {_RENAMED[name]}")
    if not isinstance(name, str) or name not in _CLASSES:
        raise ParameterError(unknown_name("method", str(name), _CLASSES))
    return ANONYMIZERS[name]
