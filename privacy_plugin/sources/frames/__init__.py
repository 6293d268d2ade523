"""Frames in this process: pandas, polars, Arrow."""
