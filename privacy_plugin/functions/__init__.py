"""What anonymizers and audits do with data of any kind: files are named like the function of `privacy_plugin`."""
