"""The commands of the command line, one a file.

A command imports what it works with when it runs: help, completion and bad usage need none of it.
"""
