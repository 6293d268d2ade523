"""The gate: verdicts, certificates and the key that signs them."""
