"""Requirements: a metric, its options and a limit."""
