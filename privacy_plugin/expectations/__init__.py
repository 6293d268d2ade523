"""Privacy requirements as Great Expectations: one expectation for each metric, all over one base.

Importing this package registers every expectation with GX, which has no other discovery: a stored suite that is loaded
without this import loses our expectations and reports success on the rest. `privacy_plugin.expectations.checkpoint`
therefore counts them.
"""

import os

os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")  # older versions of GX read it at import

try:
    import great_expectations.expectations.expectation  # noqa: F401
except ModuleNotFoundError as problem:
    if problem.name != "great_expectations":
        raise
    message = "privacy_plugin.expectations needs Great Expectations: pip install 'privacy-plugin[gx]'"
    raise ModuleNotFoundError(message, name="great_expectations") from None
except SystemExit:  # pyspark without its connect extra exits a process that has no main file, with exit code 0
    raise ImportError(
        "importing great_expectations would exit this process; pip install 'privacy-plugin[spark]'"
    ) from None


from privacy_plugin.expectations import stored_checkpoint as stored_checkpoint  # registers its action
from privacy_plugin.expectations.generated_tables import (
    ExpectTableCompressionDifferenceToBeAtMost,
    ExpectTableItemsetDifferenceToBeAtMost,
    ExpectTableLearnedAccuracyToBeAtLeast,
    ExpectTableRepeatedRecordsToBeAtMost,
    ExpectTableUniqueItemsetsToBeAtMost,
)
from privacy_plugin.expectations.identity import (
    ExpectTableJournalistRiskToBeAtMost,
    ExpectTableKAnonymityToBeAtLeast,
    ExpectTableKMapToBeAtLeast,
    ExpectTableReidentificationRiskToBeAtMost,
)
from privacy_plugin.expectations.policy_columns import (
    ExpectTableColumnsToMatchPolicy,
)
from privacy_plugin.expectations.presence import (
    ExpectTableDeltaPresenceToBeBetween,
    ExpectTablePresenceConfidenceToBeAtLeast,
)
from privacy_plugin.expectations.privacy_score import (
    ExpectTablePrivacyScoreToBeLessThan,
)
from privacy_plugin.expectations.randomization import (
    ExpectTableEpsilonDependenceToBeAtMost,
    ExpectTablePrivacyBudgetToBeAtMost,
)
from privacy_plugin.expectations.releases_over_time import (
    ExpectTableAcrossReleasesToBeAtMost,
    ExpectTableDifferencesToBeAtMost,
    ExpectTableMInvarianceToBeAtLeast,
)
from privacy_plugin.expectations.sensitive_values import (
    ExpectTableAttributeRiskToBeAtMost,
    ExpectTableLDiversityToBeAtLeast,
    ExpectTableMaximumDisclosureToBeLessThan,
    ExpectTableTClosenessToBeAtMost,
)
from privacy_plugin.expectations.usefulness import (
    ExpectTableQueryErrorToBeAtMost,
    ExpectTableUsabilityToBeAtLeast,
)

__all__ = [
    "ExpectTableAcrossReleasesToBeAtMost",
    "ExpectTableAttributeRiskToBeAtMost",
    "ExpectTableColumnsToMatchPolicy",
    "ExpectTableCompressionDifferenceToBeAtMost",
    "ExpectTableDeltaPresenceToBeBetween",
    "ExpectTableDifferencesToBeAtMost",
    "ExpectTableEpsilonDependenceToBeAtMost",
    "ExpectTableItemsetDifferenceToBeAtMost",
    "ExpectTableJournalistRiskToBeAtMost",
    "ExpectTableKAnonymityToBeAtLeast",
    "ExpectTableKMapToBeAtLeast",
    "ExpectTableLDiversityToBeAtLeast",
    "ExpectTableLearnedAccuracyToBeAtLeast",
    "ExpectTableMInvarianceToBeAtLeast",
    "ExpectTableMaximumDisclosureToBeLessThan",
    "ExpectTablePresenceConfidenceToBeAtLeast",
    "ExpectTablePrivacyBudgetToBeAtMost",
    "ExpectTablePrivacyScoreToBeLessThan",
    "ExpectTableQueryErrorToBeAtMost",
    "ExpectTableReidentificationRiskToBeAtMost",
    "ExpectTableRepeatedRecordsToBeAtMost",
    "ExpectTableTClosenessToBeAtMost",
    "ExpectTableUniqueItemsetsToBeAtMost",
    "ExpectTableUsabilityToBeAtLeast",
]
