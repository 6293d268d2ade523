"""Usability: how much of the original a release still tells, as a score and as the error of COUNT queries."""

from privacy_plugin.metrics.usability import query_error as query_error
from privacy_plugin.metrics.usability import score as score
