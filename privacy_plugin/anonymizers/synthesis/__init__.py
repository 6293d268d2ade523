"""Synthetic tables drawn from sanitized models."""
