"""Generalization: the lattice, its searches, losses, suppression and plans."""
