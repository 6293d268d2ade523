"""Private releases of itemsets and of their counts."""
