"""The reference pipeline on data it generates itself."""
