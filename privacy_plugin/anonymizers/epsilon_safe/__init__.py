"""epsilon-safe lattice anonymization."""
