"""The standard arguments of Dagster that every builder passes on: tags, owners, retries, automation, ..."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypedDict

import dagster as dg

from privacy_plugin.errors import ParameterError, unknown_name
from privacy_plugin.orchestration.upstream import Asset


class AssetArguments(TypedDict, total=False):
    """Arguments of `dg.asset` that mean the same in every builder of an asset.

    `kinds` replaces the kind `privacy`, `description` the description of the builder; `metadata` and `deps` are added
    to those of the builder. `io_manager_key` has an effect only where an IO manager stores the asset.
    """

    key_prefix: str | Sequence[str] | None
    group_name: str | None
    description: str | None
    metadata: Mapping[str, Any] | None
    tags: Mapping[str, str] | None
    owners: Sequence[str] | None
    kinds: AbstractSet[str] | None
    deps: Iterable[Any] | None
    code_version: str | None
    automation_condition: dg.AutomationCondition[Any] | None
    freshness_policy: dg.FreshnessPolicy | None
    backfill_policy: dg.BackfillPolicy | None
    retry_policy: dg.RetryPolicy | None
    pool: str | None
    io_manager_key: str | None
    op_tags: Mapping[str, Any] | None


class CheckArguments(TypedDict, total=False):
    """Arguments of Dagster's asset checks; a check takes fewer than an asset.

    `description` replaces the description of the step that runs all checks. `metadata` is shown with every check.
    """

    description: str | None
    metadata: Mapping[str, Any] | None
    additional_deps: Iterable[Any] | None
    automation_condition: dg.AutomationCondition[Any] | None
    retry_policy: dg.RetryPolicy | None
    pool: str | None
    op_tags: Mapping[str, Any] | None


def require_known(given: Mapping[str, Any], kind: type, *, builder: str) -> None:
    """Raise for an argument that the builder does not take, instead of ignoring it."""
    known = tuple(kind.__annotations__)
    for name in given:
        if name not in known:
            raise ParameterError(unknown_name(f"argument of {builder}", name, known))


READS_UNJUDGED = "privacy_plugin/reads_unjudged"


def with_gate_tag(tags: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the tags of a step that may load an asset whose gate is closed: the gate itself, or a release.

    The gate has to read what it judges; a release verifies the certificate of the copy that it publishes.
    """
    return {**(tags or {}), READS_UNJUDGED: "true"}


def require_one_partition_per_run(policy: dg.BackfillPolicy | None, *, owner: str) -> None:
    """Raise for a backfill that puts several partitions into one run: each has its own verdict and certificate."""
    if policy is not None and policy.max_partitions_per_run != 1:
        raise ParameterError(
            f"{owner} has the backfill policy {policy}, but a gate judges one partition per run; give "
            "BackfillPolicy.multi_run(max_partitions_per_run=1), or none"
        )


def require_upstream_backfill(asset: Asset, partitions: Any) -> None:
    """Raise if a partitioned upstream is backfilled in runs of several partitions, which its checks would join."""
    if partitions is not None and isinstance(asset, dg.AssetsDefinition):
        require_one_partition_per_run(asset.backfill_policy, owner=f"the asset {asset.key.to_user_string()!r}")


def with_prefix(key: dg.AssetKey, prefix: str | Sequence[str] | None) -> dg.AssetKey:
    """Return the key of an asset under a prefix.

    >>> with_prefix(dg.AssetKey("visits"), ["clinic", "north"]).to_user_string()
    'clinic/north/visits'
    """
    return key if prefix is None else key.with_prefix(prefix)
