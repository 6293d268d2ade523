"""The table of estimated supports: what it shows, and that its estimates are those of the function."""

import numpy as np
import pandas as pd

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.frequency import FrequencyTable
from tests.randomized_policies import ITEMSET_COUNTS, open_ledger, people, policy_dict


def test_the_table_holds_the_rounded_estimates_of_the_function() -> None:
    policy = pp.Policy.from_dict(policy_dict(anonymize=ITEMSET_COUNTS))
    made = anonymize(
        pd.DataFrame(people()), policy=policy, ledger=open_ledger(), generator=np.random.default_rng(1)
    ).made
    itemsets = ITEMSET_COUNTS["itemsets"]
    assert isinstance(itemsets, list)
    table = FrequencyTable.from_rows(["sex", "zip"], list(zip(people()["sex"], people()["zip"], strict=True)))
    wanted = pp.randomized_itemset_counts(table, itemsets=itemsets, epsilon=0.5, generator=np.random.default_rng(1))
    found = made.set_index("itemset")
    assert found["support"].to_dict() == {
        "sex=f": round(wanted.estimates[0].count),
        "sex=m; zip=101": round(wanted.estimates[1].count),
    }
    assert found["size"].to_dict() == {"sex=f": 1, "sex=m; zip=101": 2}
    assert (found["standard_error"] - wanted.estimates[0].standard_error).between(0, 1).all()


def test_names_and_values_are_escaped() -> None:
    table = FrequencyTable.from_rows(["a=b"], [("x; y",)] * 5)
    found = pp.randomized_itemset_counts(table, itemsets=[{"a=b": "x; y"}], epsilon=1)
    assert found.frequencies.dictionary("itemset") == ("a\\=b=x\\; y",)
