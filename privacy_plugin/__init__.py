"""Privacy gates for data pipelines: measure how private a table is, make it more private, hold the gate until it is.

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from privacy_plugin.anonymizers.audit_mechanism import audit_mechanism
    from privacy_plugin.anonymizers.bucketization.bucketize import bucketize
    from privacy_plugin.anonymizers.epsilon_safe.epsilon_safe_lattice import epsilon_safe_lattice
    from privacy_plugin.anonymizers.epsilon_safe.good_node_probabilities import good_node_probabilities
    from privacy_plugin.anonymizers.epsilon_safe.sampling import sampling_delta, smallest_k
    from privacy_plugin.anonymizers.itemsets.private_itemsets import private_itemsets
    from privacy_plugin.anonymizers.itemsets.randomized_itemset_counts import randomized_itemset_counts
    from privacy_plugin.anonymizers.itemsets.sanitized_krimp import sanitized_krimp
    from privacy_plugin.anonymizers.multidimensional_presence import multidimensional_presence
    from privacy_plugin.anonymizers.randomized_response import randomized_response
    from privacy_plugin.anonymizers.repair.score_repair import fill_holes, greedy_repair
    from privacy_plugin.anonymizers.synthesis.synthesize import synthesize
    from privacy_plugin.errors import PrivacyPluginError
    from privacy_plugin.frequency import FrequencyTable
    from privacy_plugin.frequency.hierarchy import Hierarchy
    from privacy_plugin.frequency.hierarchy_builders import (
        date_hierarchy,
        interval_hierarchy,
        mask_hierarchy,
        tree_hierarchy,
    )
    from privacy_plugin.frequency.hierarchy_files import read_hierarchy, write_hierarchy
    from privacy_plugin.gate.certificate import CertificateStore
    from privacy_plugin.gate.verdict import Verdict
    from privacy_plugin.generalization.generalize import generalize, loss_against_k
    from privacy_plugin.generalization.generalize_locally import generalize_locally
    from privacy_plugin.generalization.local_plan import LocalPlan
    from privacy_plugin.generalization.plan import Plan, load_plan
    from privacy_plugin.history import ReleaseHistory
    from privacy_plugin.history.in_use import using_history
    from privacy_plugin.ledger import BudgetLedger
    from privacy_plugin.ledger.in_use import using_ledger
    from privacy_plugin.measuring.audits import audit_channel, audit_generated
    from privacy_plugin.measuring.given_knowledge import disclosure_of_given_knowledge
    from privacy_plugin.measuring.measure import population_marginals
    from privacy_plugin.metrics.compression_difference import CompressionDifference
    from privacy_plugin.metrics.dependence.channel import count_dependence, epsilon_dependence, histogram_dependence
    from privacy_plugin.metrics.itemset_difference import ItemsetDifference
    from privacy_plugin.metrics.learned_accuracy import LearnedAccuracy
    from privacy_plugin.metrics.maximum_disclosure.metric import DisclosureMeasurement
    from privacy_plugin.metrics.measurement import Measurement
    from privacy_plugin.metrics.presence.delta_presence import DeltaPresence, presence_bounds
    from privacy_plugin.metrics.presence.presence_confidence import PresenceConfidence
    from privacy_plugin.metrics.privacy_score.dowker_complex import dowker_complex
    from privacy_plugin.metrics.privacy_score.result import PrivacyScore
    from privacy_plugin.metrics.repeated_records import RepeatedRecords
    from privacy_plugin.metrics.unique_itemsets import UniqueItemsets
    from privacy_plugin.metrics.usability.query_error import QueryError
    from privacy_plugin.metrics.usability.score import Usability
    from privacy_plugin.policy.policy import Policy
    from privacy_plugin.requirements.requirement import Finding, Requirement, require
    from privacy_plugin.sources import file_table, frequency_table, sql_table

    # A metric is a function of frequency tables; here it takes any data, and its options as keywords.
    across_releases: Callable[..., Measurement]
    attribute_risk: Callable[..., Measurement]
    compression_difference: Callable[..., CompressionDifference]
    delta_presence: Callable[..., DeltaPresence]
    differences: Callable[..., Measurement]
    itemset_difference: Callable[..., ItemsetDifference]
    journalist_risk: Callable[..., Measurement]
    k_anonymity: Callable[..., Measurement]
    k_map: Callable[..., Measurement]
    l_diversity: Callable[..., Measurement]
    learned_accuracy: Callable[..., LearnedAccuracy]
    m_invariance: Callable[..., Measurement]
    maximum_disclosure: Callable[..., DisclosureMeasurement]
    presence_confidence: Callable[..., PresenceConfidence]
    privacy_budget: Callable[..., Measurement]
    privacy_score: Callable[..., PrivacyScore]
    query_error: Callable[..., QueryError]
    reidentification_risk: Callable[..., Measurement]
    repeated_records: Callable[..., RepeatedRecords]
    t_closeness: Callable[..., Measurement]
    unique_itemsets: Callable[..., UniqueItemsets]
    usability: Callable[..., Usability]

__version__ = "0.1.0"

_HOMES = {
    "CertificateStore": "gate.certificate",
    "Finding": "requirements.requirement",
    "FrequencyTable": "frequency",
    "Hierarchy": "frequency.hierarchy",
    "LocalPlan": "generalization.local_plan",
    "Measurement": "metrics.measurement",
    "Plan": "generalization.plan",
    "Policy": "policy.policy",
    "PrivacyPluginError": "errors",
    "ReleaseHistory": "history",
    "Requirement": "requirements.requirement",
    "Verdict": "gate.verdict",
    "BudgetLedger": "ledger",
    "audit_channel": "measuring.audits",
    "audit_generated": "measuring.audits",
    "audit_mechanism": "anonymizers.audit_mechanism",
    "bucketize": "anonymizers.bucketization.bucketize",
    "count_dependence": "metrics.dependence.channel",
    "date_hierarchy": "frequency.hierarchy_builders",
    "disclosure_of_given_knowledge": "measuring.given_knowledge",
    "dowker_complex": "metrics.privacy_score.dowker_complex",
    "epsilon_dependence": "metrics.dependence.channel",
    "epsilon_safe_lattice": "anonymizers.epsilon_safe.epsilon_safe_lattice",
    "fill_holes": "anonymizers.repair.score_repair",
    "frequency_table": "sources",
    "generalize": "generalization.generalize",
    "generalize_locally": "generalization.generalize_locally",
    "good_node_probabilities": "anonymizers.epsilon_safe.good_node_probabilities",
    "greedy_repair": "anonymizers.repair.score_repair",
    "histogram_dependence": "metrics.dependence.channel",
    "interval_hierarchy": "frequency.hierarchy_builders",
    "load_plan": "generalization.plan",
    "loss_against_k": "generalization.generalize",
    "mask_hierarchy": "frequency.hierarchy_builders",
    "multidimensional_presence": "anonymizers.multidimensional_presence",
    "population_marginals": "measuring.measure",
    "presence_bounds": "metrics.presence.delta_presence",
    "private_itemsets": "anonymizers.itemsets.private_itemsets",
    "randomized_itemset_counts": "anonymizers.itemsets.randomized_itemset_counts",
    "randomized_response": "anonymizers.randomized_response",
    "read_hierarchy": "frequency.hierarchy_files",
    "require": "requirements.requirement",
    "sampling_delta": "anonymizers.epsilon_safe.sampling",
    "sanitized_krimp": "anonymizers.itemsets.sanitized_krimp",
    "smallest_k": "anonymizers.epsilon_safe.sampling",
    "file_table": "sources",
    "sql_table": "sources",
    "synthesize": "anonymizers.synthesis.synthesize",
    "tree_hierarchy": "frequency.hierarchy_builders",
    "using_history": "history.in_use",
    "using_ledger": "ledger.in_use",
    "write_hierarchy": "frequency.hierarchy_files",
}

# Metrics are functions of frequency tables; here they take any data.
_METRICS = (
    "across_releases",
    "attribute_risk",
    "compression_difference",
    "delta_presence",
    "differences",
    "itemset_difference",
    "journalist_risk",
    "k_anonymity",
    "k_map",
    "l_diversity",
    "learned_accuracy",
    "m_invariance",
    "maximum_disclosure",
    "presence_confidence",
    "privacy_budget",
    "privacy_score",
    "query_error",
    "reidentification_risk",
    "repeated_records",
    "t_closeness",
    "unique_itemsets",
    "usability",
)

__all__ = [  # a type checker reads this list, and knows metrics by their types above
    *_METRICS,
    "BudgetLedger",
    "CertificateStore",
    "Finding",
    "FrequencyTable",
    "Hierarchy",
    "LocalPlan",
    "Measurement",
    "Plan",
    "Policy",
    "PrivacyPluginError",
    "ReleaseHistory",
    "Requirement",
    "Verdict",
    "audit_channel",
    "audit_generated",
    "audit_mechanism",
    "bucketize",
    "count_dependence",
    "date_hierarchy",
    "disclosure_of_given_knowledge",
    "dowker_complex",
    "epsilon_dependence",
    "epsilon_safe_lattice",
    "fill_holes",
    "frequency_table",
    "generalize",
    "generalize_locally",
    "good_node_probabilities",
    "greedy_repair",
    "histogram_dependence",
    "interval_hierarchy",
    "load_plan",
    "loss_against_k",
    "mask_hierarchy",
    "multidimensional_presence",
    "population_marginals",
    "presence_bounds",
    "private_itemsets",
    "randomized_itemset_counts",
    "randomized_response",
    "read_hierarchy",
    "require",
    "sampling_delta",
    "sanitized_krimp",
    "smallest_k",
    "sql_table",
    "file_table",
    "synthesize",
    "tree_hierarchy",
    "using_history",
    "using_ledger",
    "write_hierarchy",
]


if not TYPE_CHECKING:  # a type checker knows every name, and is to say where one is misspelt

    def __getattr__(name: str) -> Any:
        if name in _METRICS:
            value = import_module("privacy_plugin.measuring.measure").public_function(name)
        elif name in _HOMES:
            value = getattr(import_module(f"privacy_plugin.{_HOMES[name]}"), name)
        else:
            raise AttributeError(f"module 'privacy_plugin' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
