"""Propose a first policy for a table: `privacy-plugin init`."""
