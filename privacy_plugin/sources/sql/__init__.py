"""Databases and files: one Dialect protocol, one file a database."""
