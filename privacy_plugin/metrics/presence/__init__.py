"""delta-presence, with a population table and from attribute distributions alone."""

from privacy_plugin.metrics.presence import delta_presence as delta_presence
from privacy_plugin.metrics.presence import presence_confidence as presence_confidence
