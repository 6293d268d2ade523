"""A small pipeline for the tests: raw table, judged table, gate and release."""

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
    build_candidate_asset,
    build_privacy_checks,
    build_release_asset,
)
from privacy_plugin.orchestration.privacy_checks import Via
from privacy_plugin.policy.policy import Policy


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
        "anonymize": {"method": "generalize", "max_suppression": 0.1},
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


def unsafe_rows() -> pd.DataFrame:
    """Return rows without identifiers in which people are unique."""
    return raw_rows().drop(columns="name")


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
        return self.run_selection(dg.AssetSelection.assets(*selected) if selected else None, **arguments)

    def run_selection(self, selection: dg.AssetSelection | None, **arguments: Any) -> dg.ExecuteInProcessResult:
        """Run the selection; failures are in the result."""
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
        """Return the sorted rows of a table, or None if it does not exist."""
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


def made_elsewhere(name: str, **arguments: Any) -> dg.AssetsDefinition:
    """A placeholder asset for an existing table: it writes nothing."""

    @dg.asset(name=name, **arguments)
    def nothing() -> None:
        pass

    return nothing


def gate_and_release(
    pipeline: Pipeline, asset: Any, *, via: Via = "native", name: str = "release", **arguments: Any
) -> list[Any]:
    """The checks of an asset and its release, with the same arguments."""
    common: dict[str, Any] = {"asset": asset, "policy": pipeline.policy, **arguments}
    return [build_privacy_checks(via=via, **common), build_release_asset(name=name, **common)]


def anonymizing(pipeline: Pipeline, frame: pd.DataFrame | None = None, **arguments: Any) -> Pipeline:
    """Raw table, generalized table, gate, release."""
    pipeline.write("raw", raw_rows() if frame is None else frame)
    pipeline.definitions = [
        dg.AssetSpec("raw"),
        build_anonymized_asset(name="anonymized", asset="raw", table="raw", policy=pipeline.policy, **arguments),
        *gate_and_release(pipeline, "anonymized", table="anonymized", **arguments),
    ]
    return pipeline


def with_the_table_as_it_is(pipeline: Pipeline) -> Pipeline:
    """The raw table and the generalized one, each with a gate and a release."""
    pipeline.definitions += [
        build_candidate_asset(name="as_is", asset="raw", table="raw", policy=pipeline.policy),
        *gate_and_release(pipeline, "as_is", table="as_is", name="as_is_release"),
    ]
    return pipeline


def judging(
    pipeline: Pipeline, frame: pd.DataFrame | None = None, *, via: Via = "native", **arguments: Any
) -> Pipeline:
    """A table that is judged unchanged, its gate, its release."""
    pipeline.write("judged", safe_rows() if frame is None else frame)
    gated = gate_and_release(pipeline, "judged", table="judged", via=via, **arguments)
    pipeline.definitions = [made_elsewhere("judged"), *gated]
    return pipeline


def outcome(result: dg.ExecuteInProcessResult) -> dict[str, bool]:
    """Return the result of every check."""
    return {evaluation.check_name: evaluation.passed for evaluation in result.get_asset_check_evaluations()}


def released(result: dg.ExecuteInProcessResult, key: str = "release") -> bool:
    """Return whether the release was materialized in a run."""
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
