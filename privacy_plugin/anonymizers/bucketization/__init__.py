"""Bucketization (Anatomy): who is in which bucket, and the values of every bucket."""
