"""The anonymizers: one file or folder each, over one base and one registry."""
