"""What a table holds, whatever engine it lies in: the fingerprint of its rows by their meaning.

A `Source.fingerprint` belongs to its engine, so that no row has to leave it. A release that was made in this process
and written to a database must be recognized there, and so its fingerprint is taken of the distinct rows in their
canonical form, which every engine agrees on. Text that stands for a number in a file is text: CSV is a form of its own.
"""

from typing import Any

from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.sources.dispatch import open_source
from privacy_plugin.sources.frequency_source import FrequencySource
from privacy_plugin.sources.protocol import Fingerprint


def content_fingerprint(data: Any) -> Fingerprint:
    """Return the fingerprint of all columns of a frequency table or of anything a source accepts.

    >>> import pandas
    >>> one, other = (pandas.DataFrame({"age": ages}) for ages in ([30, 41, 30], [41.0, 30.0, 30.0]))
    >>> content_fingerprint(one) == content_fingerprint(other)
    True
    """
    table = data
    if not isinstance(data, FrequencyTable):
        source = open_source(data)
        table = source.frequencies(source.columns)
    return FrequencySource(table).fingerprint()
