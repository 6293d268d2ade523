"""A small pipeline for the tests: a raw table, what is judged, its gate and its release, run for real."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import sqlalchemy as sa

from privacy_plugin.orchestration import (
    CertificateStoreResource,
    WarehouseResource,
    build_anonymized_asset,
    build_privacy_checks,
    build_release_asset,
)
from privacy_plugin.orchestration.privacy_checks import Via
from privacy_plugin.policy import Policy


def policy_dict(**changes: Any) -> dict[str, Any]:
    return {
        "dataset": "visits",
        "columns": {
            "name": "identifier",
            "age": {
                "role": "quasi_identifier",
                "hierarchy": {"intervals": {"start": 0, "stop": 100, "widths": [10, 50]}},
            },
            "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 3}}},
            "disease": "sensitive",
        },
        "requirements": [{"k_anonymity": {"at_least": 3}}, {"l_diversity": {"variant": "distinct", "at_least": 2}}],
        "anonymize": {"max_suppression": 0.1},
        **changes,
    }


def raw_rows(count: int = 40) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "name": [f"person {i}" for i in range(count)],
            "age": [20 + i % 30 for i in range(count)],
            "zip": [str(100 + i % 7) for i in range(count)],
            "disease": ["abcd"[i % 4] for i in range(count)],
        }
    )


def safe_rows(count: int = 40) -> pd.DataFrame:
    """Return rows that pass as they are: four classes with all diseases, no identifier."""
    return pd.DataFrame(
        {
            "age": [30 + 10 * (i % 2) for i in range(count)],
            "zip": [str(100 + (i // 2) % 2) for i in range(count)],
            "disease": ["abcd"[(i // 4) % 4] for i in range(count)],
        }
    )


@dataclass(kw_only=True)
class Pipeline:
    """Assets, checks and resources that share one instance over several runs."""

    folder: Path
    url: str
    policy: Policy = field(default_factory=lambda: Policy.from_dict(policy_dict()))
    definitions: list[Any] = field(default_factory=list)
    instance: dg.DagsterInstance = field(default_factory=dg.DagsterInstance.ephemeral)
    extra_resources: Mapping[str, Any] = field(default_factory=dict)

    @property
    def certificates(self) -> CertificateStoreResource:
        return CertificateStoreResource(folder=str(self.folder))

    @property
    def resources(self) -> dict[str, Any]:
        return {
            "warehouse": WarehouseResource(url=self.url),
            "certificates": self.certificates,
            "io_manager": dg.FilesystemIOManager(base_dir=str(self.folder / "values")),
            **self.extra_resources,
        }

    def run(self, *selected: str, **arguments: Any) -> dg.ExecuteInProcessResult:
        """Run the named assets with the checks on them (all, if none is named)."""
        selection = dg.AssetSelection.assets(*selected) if selected else None
        return dg.materialize(
            self.definitions,
            selection=selection,
            resources=self.resources,
            instance=self.instance,
            raise_on_error=False,
            **arguments,
        )

    def write(self, table: str, frame: pd.DataFrame) -> None:
        warehouse = WarehouseResource(url=self.url)
        with warehouse.engine.begin() as connection:
            connection.exec_driver_sql(f'DROP TABLE IF EXISTS "{table}"')
            types = {"int64": "INTEGER"}
            columns = ", ".join(f'"{name}" {types.get(str(dtype), "VARCHAR")}' for name, dtype in frame.dtypes.items())
            connection.exec_driver_sql(f'CREATE TABLE "{table}" ({columns})')
            places = ", ".join(f":c{i}" for i in range(frame.shape[1]))
            rows = [{f"c{i}": value for i, value in enumerate(row)} for row in frame.itertuples(index=False, name=None)]
            if rows:
                connection.execute(sa.text(f'INSERT INTO "{table}" VALUES ({places})'), rows)
        warehouse.dispose()

    def read(self, table: str) -> list[tuple[Any, ...]] | None:
        """Return the rows of a table, sorted, or None where there is none."""
        warehouse = WarehouseResource(url=self.url)
        try:
            with warehouse.engine.connect() as connection:
                rows = connection.exec_driver_sql(f'SELECT * FROM "{table}"').fetchall()
                return sorted((tuple(row) for row in rows), key=repr)
        except sa.exc.SQLAlchemyError:
            return None
        finally:
            warehouse.dispose()

    def execute(self, statement: str) -> None:
        warehouse = WarehouseResource(url=self.url)
        with warehouse.engine.begin() as connection:
            connection.exec_driver_sql(statement)
        warehouse.dispose()

    def certificate_files(self) -> list[Path]:
        return sorted((self.folder / "certificates").rglob("*.json"))


def anonymizing(pipeline: Pipeline) -> Pipeline:
    """Raw table, generalized table, gate, release."""
    pipeline.write("raw", raw_rows())
    common: dict[str, Any] = {"policy": pipeline.policy}
    pipeline.definitions = [
        dg.AssetSpec("raw"),
        build_anonymized_asset(name="anonymized", asset="raw", table="raw", **common),
        build_privacy_checks(asset="anonymized", table="anonymized", **common),
        build_release_asset(name="release", asset="anonymized", table="anonymized", **common),
    ]
    return pipeline


def judging(
    pipeline: Pipeline, frame: pd.DataFrame | None = None, *, via: Via = "native", **arguments: Any
) -> Pipeline:
    """A table that is judged as it is, its gate, its release; the asset itself writes nothing."""
    pipeline.write("judged", safe_rows() if frame is None else frame)

    @dg.asset
    def judged() -> None:
        """Stands for whatever made the table."""

    common: dict[str, Any] = {"asset": "judged", "policy": pipeline.policy, "table": "judged", **arguments}
    gate = build_privacy_checks(via=via, **common)
    pipeline.definitions = [judged, gate, build_release_asset(name="release", **common)]
    return pipeline


def outcome(result: dg.ExecuteInProcessResult) -> dict[str, bool]:
    """Return what every check said."""
    return {evaluation.check_name: evaluation.passed for evaluation in result.get_asset_check_evaluations()}


def released(result: dg.ExecuteInProcessResult, key: str = "release") -> bool:
    """Tell whether the release was materialized in a run."""
    return bool(result.asset_materializations_for_node(key)) if key in _started(result) else False


def errors(result: dg.ExecuteInProcessResult) -> str:
    """Return the errors of failed steps as Dagster stores them."""
    return "\n".join(
        event.step_failure_data.error.to_string()
        for event in result.all_events
        if event.is_step_failure and event.step_failure_data.error
    )


def _started(result: dg.ExecuteInProcessResult) -> Sequence[str]:
    return [str(event.step_key) for event in result.all_events if event.is_step_start]
