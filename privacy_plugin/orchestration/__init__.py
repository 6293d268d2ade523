"""Dagster: assets that anonymize, blocking checks that judge, and releases that verify the certificate."""

try:
    import dagster  # noqa: F401
except ModuleNotFoundError as problem:
    if problem.name != "dagster":
        raise
    raise ModuleNotFoundError(
        "privacy_plugin.orchestration needs Dagster: pip install 'privacy-plugin[dagster]'", name="dagster"
    ) from None

from privacy_plugin.orchestration.anonymized_asset import build_anonymized_asset
from privacy_plugin.orchestration.candidate_asset import build_candidate_asset
from privacy_plugin.orchestration.component import PrivacyGateComponent
from privacy_plugin.orchestration.dbt_checks import build_privacy_checks_from_dbt
from privacy_plugin.orchestration.gate_guard import GatedIOManager, build_gated_io_manager, require_open_gate
from privacy_plugin.orchestration.privacy_checks import build_privacy_checks
from privacy_plugin.orchestration.release_asset import build_release_asset, when_gate_passed
from privacy_plugin.orchestration.resources import (
    BudgetLedgerResource,
    CertificateStoreResource,
    ReleaseHistoryResource,
    WarehouseResource,
)
from privacy_plugin.orchestration.scores_asset import build_scores_asset

__all__ = [
    "BudgetLedgerResource",
    "CertificateStoreResource",
    "GatedIOManager",
    "PrivacyGateComponent",
    "ReleaseHistoryResource",
    "WarehouseResource",
    "build_anonymized_asset",
    "build_candidate_asset",
    "build_gated_io_manager",
    "build_privacy_checks",
    "build_privacy_checks_from_dbt",
    "build_release_asset",
    "build_scores_asset",
    "require_open_gate",
    "when_gate_passed",
]
