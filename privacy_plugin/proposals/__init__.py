"""A first policy for a table that nobody has described: `privacy-plugin init`."""
