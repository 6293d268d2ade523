"""Attacks on a release: what an attacker with some knowledge really achieves."""
