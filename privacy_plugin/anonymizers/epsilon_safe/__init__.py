"""epsilon-safe lattice anonymization, and help with its parameters."""
