"""The lattice of generalizations over one table: what a node is, what a walk knows of all nodes, how to search."""
