"""The second table of metrics that compare with a population: where an expectation finds it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from great_expectations.data_context.data_context.context_factory import project_manager
from great_expectations.execution_engine.sparkdf_execution_engine import SparkDFExecutionEngine
from great_expectations.execution_engine.sqlalchemy_execution_engine import SqlAlchemyExecutionEngine

from privacy_plugin.errors import ParameterError, SourceError
from privacy_plugin.expectations.hosting import require_one_batch
from privacy_plugin.sources import sql_table

_FORMS = '"schema.table", a file name, {"table": ...}, {"file": ...} or {"data_source": ..., "asset": ...}'
_FILES = (".csv", ".tsv", ".parquet")
_KEYS = ({"table"}, {"file"}, {"data_source", "asset"})


def population_specification(given: Any) -> dict[str, str]:
    """Read where a population lies; a plain text is a file if it ends like one, and a table otherwise.

    >>> population_specification("register.csv"), population_specification("clinic.register")
    ({'file': 'register.csv'}, {'table': 'clinic.register'})
    """
    if isinstance(given, str) and given:
        return {"file" if given.lower().endswith(_FILES) else "table": given}
    is_text = isinstance(given, Mapping) and all(isinstance(value, str) and value for value in given.values())
    if not is_text or set(given) not in _KEYS:
        raise ParameterError(f"population must be {_FORMS}")
    return dict(given)


def find_population(engine: Any, given: Any) -> Any:
    """Find the population next to a batch: in the batch's database, in the GX project, or as a file."""
    if given is None:
        return None
    specification = population_specification(given)
    if "file" in specification:
        return Path(specification["file"])
    if "table" in specification:
        return _table(engine, specification["table"])
    return _asset(specification["data_source"], specification["asset"])


def _table(engine: Any, name: str) -> Any:
    if isinstance(engine, SqlAlchemyExecutionEngine):
        return sql_table(engine.engine, name)
    if isinstance(engine, SparkDFExecutionEngine):
        return engine.spark.table(name)
    raise SourceError(
        f"the batch lies in {type(engine).__name__}, which has no table {name!r} beside it; "
        'give the population as {"file": ...} or {"data_source": ..., "asset": ...}'
    )


def _asset(data_source: str, asset: str) -> Any:
    """Open the whole asset of a data source of the current project."""
    try:
        found = project_manager.get_datasources()[data_source].get_asset(asset)
    except (KeyError, LookupError):
        raise SourceError(f"the GX project has no asset {asset!r} in a data source {data_source!r}") from None
    request = found.build_batch_request()
    require_one_batch(found.get_batch_identifiers_list(request), "an asset that holds the whole population")
    batch = found.get_batch(request)
    selectable = getattr(batch.data, "selectable", None)
    if selectable is None:
        return batch.data.dataframe
    return sql_table(batch.data.execution_engine.engine, selectable)
