"""epsilon-dependence of a mechanism, of two columns, and of releases without noise."""

from privacy_plugin.metrics.dependence import epsilon_dependence as epsilon_dependence
