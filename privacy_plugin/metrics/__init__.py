"""The metrics: one file each, a pure function of frequency tables."""
