"""The compiled walk over all nodes of a lattice."""
