"""The anonymizers: one file each, and the lattice search they share."""
