"""The report states a budget with its unit, what it is composed of, and what it assumes."""

import pandas as pd

import privacy_plugin as pp
from privacy_plugin.report.page import render_report
from tests.randomized_policies import open_ledger, people, policy_dict


def test_a_randomized_release_states_its_budget() -> None:
    policy = pp.Policy.from_dict(policy_dict())
    frame = pd.DataFrame(people())
    with pp.using_ledger(open_ledger()) as ledger:
        ledger.reserve(dataset="visits", unit="row", epsilon=0.5, mechanism="killed")
        made = pp.synthesize(frame, columns=["sex", "zip"], epsilon=1, ledger=ledger, dataset="visits")
        verdicts = [("as it is", policy.judge(frame.drop(columns="name"))), ("drawn", policy.judge(made.table))]
    page = render_report(policy=policy, verdicts=verdicts)
    for words in (
        "delta 0.01 a row; composed over 2 spends",
        "composed as zero-concentrated privacy, which is the smaller bound; added up, the epsilons are 1.5",
        "synthesis by row",
        "one row: tables of the same number of rows that differ in one row",
        "over every spend (2) of dataset &#x27;visits&#x27;, 1 of them without a known end",
        "the number of rows is public",
        "the budget ledger has no record of this table",
        "A larger unit than the one stated",
    ):
        assert words in page or words.replace("&#x27;", "&#39;") in page, words
    assert "MARKER" not in page
