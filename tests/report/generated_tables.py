"""A table and one that was generated from it, with values that no page may show."""

import pandas as pd

REAL = pd.DataFrame({"age": ["zq1", "zq2", "zq3", "zq4"] * 5, "ill": ["zqyes", "zqno"] * 10})


MADE = pd.DataFrame({"age": ["zq1", "zq2", "zq3", "zq1"] * 5, "ill": ["zqyes", "zqno"] * 10})


ROLES = {"age": "quasi_identifier", "ill": "sensitive"}
