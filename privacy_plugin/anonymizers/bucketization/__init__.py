"""Bucketization (Anatomy): a table of people with their bucket, and a table of buckets with their values."""
