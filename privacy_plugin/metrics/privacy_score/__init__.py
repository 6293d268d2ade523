"""The Database Privacy Score: the metric, its three algorithms, and its result."""

from privacy_plugin.metrics.privacy_score.metric import privacy_score as privacy_score
