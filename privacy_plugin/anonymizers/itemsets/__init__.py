"""Releases of itemsets."""
