"""The policy: the role of every column, the requirements, and the method, in YAML that a person signs."""
