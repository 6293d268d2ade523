"""Maximum disclosure against worst-case background knowledge: (c,k)-safety."""

from privacy_plugin.metrics.maximum_disclosure.metric import maximum_disclosure as maximum_disclosure
