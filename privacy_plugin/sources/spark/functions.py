"""Spark's functions by their names: before 4.2, one that somebody registered takes the place of Spark's own."""

from pyspark.sql import SparkSession

from privacy_plugin.errors import SourceError

NAMES = (
    "array",
    "array_join",
    "array_sort",
    "coalesce",
    "collect_list",
    "concat",
    "concat_ws",
    "count",
    "first",
    "hex",
    "isnan",
    "isnotnull",
    "isnull",
    "map_entries",
    "map_from_entries",
    "monotonically_increasing_id",
    "not",
    "octet_length",
    "raise_error",
    "replace",
    "sha2",
    "sort_array",
    "struct",
    "substring",
    "sum",
    "transform",
    "unix_date",
    "unix_micros",
    "when",
)

_LOOKS_FOR_ITS_OWN_FIRST = (4, 2)
_OWN = "org.apache.spark.sql.catalyst.expressions."


def require_own_functions(session: SparkSession) -> None:
    """Refuse a session in which a function that we ask for by its name is not Spark's own: it may count anything."""
    version = tuple(int(part) for part in session.version.split(".")[:2])
    if version >= _LOOKS_FOR_ITS_OWN_FIRST:
        return
    found = session.catalog.listFunctions(pattern="|".join(NAMES))
    taken = sorted(function.name for function in found if not str(function.className).startswith(_OWN))
    if taken:
        raise SourceError(
            f"in this Spark session {', '.join(taken)} is a registered function instead of Spark's own; register it "
            "under another name"
        )
