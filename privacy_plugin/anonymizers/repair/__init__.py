"""Repairs of the privacy score by added records."""
