"""What a source holds, read back for comparison."""

from collections import Counter
from typing import Any

from privacy_plugin.sources import Source
from tests.oracles.frequencies import meaning


def values(source: Source, column: str) -> list[Any]:
    return list(source.frequencies([column]).dictionaries[0])


def counted(source: Source) -> Counter[Any]:
    table = source.frequencies(source.columns)
    return Counter({tuple(map(meaning, table.values(row))): int(table.counts[row]) for row in range(table.distinct)})
