"""The policy: a role for every column, the requirements and the anonymization method, in YAML."""
