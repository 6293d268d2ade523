"""The few hot loops, compiled: arrays in, arrays out."""
