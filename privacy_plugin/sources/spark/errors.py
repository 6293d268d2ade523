"""What Spark says when it fails, told without values."""

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from privacy_plugin.errors import SourceError
from privacy_plugin.sources.spark.logs import unlogged


@contextmanager
def told_as_source_error(doing: str) -> Iterator[None]:
    """Tell Spark's errors without what it puts into them: values and plans."""
    try:
        with unlogged():
            yield
    except (PySparkException, Py4JError) as error:
        raise SourceError(f"{doing} the Spark frame failed: {type(error).__name__}") from None
