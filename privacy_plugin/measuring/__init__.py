"""Metrics and audits on data of any kind."""
