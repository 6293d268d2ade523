"""The registry of anonymizers: every method that a policy can name under `anonymize`."""

from typing import Any

from privacy_plugin.anonymizers.base import Anonymizer
from privacy_plugin.anonymizers.bucketization.bucketize import BucketizeMethod
from privacy_plugin.anonymizers.epsilon_safe.epsilon_safe_lattice import EpsilonSafeLatticeMethod
from privacy_plugin.anonymizers.generalize import GeneralizeMethod
from privacy_plugin.anonymizers.generalize_locally import GeneralizeLocallyMethod
from privacy_plugin.anonymizers.itemsets.private_itemsets import PrivateItemsetsMethod
from privacy_plugin.anonymizers.itemsets.randomized_itemset_counts import RandomizedItemsetCountsMethod
from privacy_plugin.anonymizers.itemsets.sanitized_krimp import SanitizedKrimpMethod
from privacy_plugin.anonymizers.multidimensional_presence import MultidimensionalPresenceMethod
from privacy_plugin.anonymizers.randomized_response import RandomizedResponseMethod
from privacy_plugin.anonymizers.synthesis.synthesize import SynthesizeMethod
from privacy_plugin.errors import ParameterError, unknown_name

# To add an anonymizer, list its class here.
_CLASSES: tuple[type[Anonymizer], ...] = (
    GeneralizeLocallyMethod,
    GeneralizeMethod,
    MultidimensionalPresenceMethod,
    BucketizeMethod,
    EpsilonSafeLatticeMethod,
    SynthesizeMethod,
    RandomizedResponseMethod,
    PrivateItemsetsMethod,
    RandomizedItemsetCountsMethod,
    SanitizedKrimpMethod,
)
DEFAULT = GeneralizeLocallyMethod.name  # of a policy that names no method
DEFAULT_WITH_POPULATION = GeneralizeMethod.name  # the same, where the gate has to find everyone's class by its labels
ANONYMIZERS = {anonymizer.name: anonymizer for anonymizer in _CLASSES}
_RENAMED = {"epsilon_safe": "epsilon_safe_lattice"}


def find_anonymizer(name: Any) -> type[Anonymizer]:
    """Return the anonymizer of this name; raise ParameterError with the valid names otherwise."""
    if isinstance(name, str) and name in _RENAMED:
        raise ParameterError(f"the method {name!r} is now named {_RENAMED[name]!r}; write method: {_RENAMED[name]}")
    if not isinstance(name, str) or name not in ANONYMIZERS:
        raise ParameterError(unknown_name("method", str(name), ANONYMIZERS))
    return ANONYMIZERS[name]
