"""What Dagster's catalog shows of a made table: name, columns with roles and levels, and their lineage."""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from privacy_plugin.description import ColumnLevel
from privacy_plugin.errors import PrivacyPluginError
from privacy_plugin.orchestration.asset_builder import AssetRun
from privacy_plugin.policy.policy import Policy
from privacy_plugin.sources import open_source
from privacy_plugin.sources.sql.origin import split_name

ROLE_TAG = "privacy_role"
_TYPE = "unknown"  # of the engine; a catalog of the database knows it


def catalog_metadata(
    policy: Policy, made: Any, run: AssetRun, *, levels: Sequence[ColumnLevel] = (), lineage: bool = True
) -> dict[str, Any]:
    """Return table name, column schema and column lineage of a made table; nothing for several tables.

    Every column has its role as a tag and a description; `levels` add what its values became. A column comes from the
    column of the same name in the upstream asset. Methods that draw rows from all columns together pass
    `lineage=False`.
    """
    if policy.rules.tables:
        return {}
    found: dict[str, Any] = {}
    if run.reads.table is not None and run.target is not None:
        found["dagster/table_name"] = ".".join(split_name(run.target))
    try:
        # a column without a role may be a value: the first line of a file without column names
        columns = [name for name in open_source(made).columns if name in {**policy.roles, **policy.rules.roles}]
    except PrivacyPluginError:  # the catalog is for readers only: nothing depends on it
        return found
    meanings = {one.column: f"level {one.position}: {one.meaning}" for one in levels}
    found["dagster/column_schema"] = dg.TableSchema(
        columns=[_column(name, policy.roles.get(name), meanings.get(name)) for name in columns]
    )
    if lineage:
        found["dagster/column_lineage"] = dg.TableColumnLineage(
            deps_by_column={
                name: [dg.TableColumnDep(asset_key=run.reads.key, column_name=name)]
                for name in columns
                if name in run.source.columns
            }
        )
    return found


def _column(name: str, role: str | None, meaning: str | None) -> dg.TableColumn:
    stated = role or "no role"
    description = stated.replace("_", "-") if meaning is None else f"{stated.replace('_', '-')}, {meaning}"
    return dg.TableColumn(name, _TYPE, description=description, tags={ROLE_TAG: role} if role else {})
