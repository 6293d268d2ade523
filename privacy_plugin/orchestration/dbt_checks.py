"""Gates and releases of a dbt project's models, from its manifest."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

import dagster as dg

from privacy_plugin.errors import ParameterError
from privacy_plugin.orchestration.anonymized_asset import build_anonymized_asset
from privacy_plugin.orchestration.privacy_checks import Mode, build_privacy_checks
from privacy_plugin.orchestration.release_asset import build_release_asset
from privacy_plugin.orchestration.standard_arguments import CheckArguments
from privacy_plugin.policy.dbt_project import GatedModel, find_project_folder, gated_models, read_manifest
from privacy_plugin.sources.sql.origin import split_name


def build_privacy_checks_from_dbt(
    *,
    manifest: Any,
    project_dir: str | Path | None = None,
    dagster_dbt_translator: Any = None,
    partitions_def: dg.PartitionsDefinition[Any] | None = None,
    mode: Mode = "gate",
    warehouse: str = "warehouse",
    certificates: str = "certificates",
    ledger: str = "ledger",
    **standard: Unpack[CheckArguments],
) -> dg.Definitions:
    """Build the gate and the release of every dbt model whose `meta` has a policy; merge them with your definitions.

    `manifest` is a `DbtProject`, the path of target/manifest.json or its content. A model names its policy in its meta:
    `privacy: {policy: visits.yaml}` (relative to the dbt project, `project_dir`), or has `requirements` there and roles
    in the meta of its columns: `privacy: quasi_identifier`. More keys: `release` (the released table, default
    <model>_release; false for none), `anonymized` (make this table of the model by the policy's method, and judge and
    release that one) and `partition_column`, for which `partitions_def` are the partitions. A `population` of the
    policy may be a model, seed or source of the project.

    Asset keys are those of `@dbt_assets` with the same `dagster_dbt_translator`. `warehouse` is the database that dbt
    writes to. dbt builds its models in one step, and a gate inside of it blocks none of them: what is downstream in dbt
    and must wait belongs behind the release. With `mode="observe"` models are measured, and nothing is released.
    """
    try:
        from dagster_dbt import DagsterDbtTranslator
    except ModuleNotFoundError:
        raise ParameterError("dbt models need dagster-dbt; pip install 'privacy-plugin[dbt]'") from None
    content, folder = _read(manifest, project_dir)
    translator = dagster_dbt_translator or DagsterDbtTranslator()
    assets: list[dg.AssetsDefinition] = []
    checks: list[dg.AssetChecksDefinition] = []

    def key_of(unique_id: str) -> dg.AssetKey:
        key: dg.AssetKey = translator.get_asset_spec(content, unique_id, None).key
        return key

    for model in gated_models(content, folder):
        key, judged = key_of(model.unique_id), model.table
        common: dict[str, Any] = {
            "policy": model.policy,
            "warehouse": warehouse,
            "certificates": certificates,
            "ledger": ledger,
            **_population(model, key_of),
            **({} if model.partition_column is None else {"partitions_def": partitions_def}),
        }
        column: dict[str, Any] = {} if model.partition_column is None else {"partition_column": model.partition_column}
        if model.anonymized and mode == "gate":
            made, target = _sibling(key, model.anonymized), _each_partition(model.anonymized, model)
            assets.append(build_anonymized_asset(name=made, asset=key, table=judged, target=target, **column, **common))
            key, judged, column = made, target, {}
        checks.append(build_privacy_checks(asset=key, table=judged, mode=mode, **column, **common, **standard))
        if model.release and mode == "gate":
            name, target = _sibling(key, model.release), _each_partition(model.release, model)
            assets.append(build_release_asset(name=name, asset=key, table=judged, target=target, **column, **common))
    return dg.Definitions(assets=assets, asset_checks=checks)


def _read(manifest: Any, project_dir: str | Path | None) -> tuple[Mapping[str, Any], Path | None]:
    """Return the content of the manifest and the folder of its project, if that is known."""
    given = None if project_dir is None else Path(project_dir)
    if isinstance(manifest, Mapping):
        if not isinstance(manifest.get("nodes"), Mapping):
            raise ParameterError("the mapping is not a dbt manifest; pass the content of target/manifest.json")
        return manifest, given
    if hasattr(manifest, "manifest_path"):  # a DbtProject
        return read_manifest(manifest.manifest_path), given or Path(manifest.project_dir)
    if not isinstance(manifest, str | Path):
        raise ParameterError(
            f"manifest must be a DbtProject, a path or the content of manifest.json, got {type(manifest).__name__}"
        )
    return read_manifest(manifest), given or find_project_folder(manifest)


def _population(model: GatedModel, key_of: Any) -> dict[str, Any]:
    if not model.policy.rules.needs_population:
        return {}
    asset = None if model.population is None else key_of(model.population)
    return {"population": asset, "population_table": model.population_table}


def _sibling(key: dg.AssetKey, table: str) -> dg.AssetKey:
    """Return the key of a table made of a model: under the model's prefix."""
    return dg.AssetKey([*key.path[:-1], split_name(table)[-1]])


def _each_partition(table: str, model: GatedModel) -> str:
    """Return the name with the partition in its last part: every partition is a table of its own."""
    if model.partition_column is None or "{partition}" in table:
        return table
    parts = list(split_name(table))
    parts[-1] += "_{partition}"
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)
