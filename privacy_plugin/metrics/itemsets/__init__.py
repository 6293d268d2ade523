"""Frequent and closed itemsets, and Krimp."""
