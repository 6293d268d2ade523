"""Failures with policies that quote values, spent budgets, and invalid ledgers."""

import sqlite3
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from tests.leaks.file_failures import written
from tests.leaks.markers import AGE, DISEASE, NAME, ZIP, frame
from tests.leaks.scenes import POLICY, Scene, failure, policy, with_hierarchy
from tests.randomized_policies import BUDGET, EPSILON_SAFE, SYNTHESIZE, open_ledger

ENTRY_POINTS = ("python", "command line")


def wrong(folder: Path, rules: Any) -> Scene:
    return Scene(data=written(folder), policy=rules)


@failure(*ENTRY_POINTS, message="is not valid YAML: line")
def a_policy_that_is_no_yaml(folder: Path) -> Scene:
    return wrong(folder, yaml.safe_dump(POLICY) + f"hierarchy: {{tree: [{ZIP}, '{DISEASE}\n")


@failure(*ENTRY_POINTS, message="is not valid YAML: line")
def a_policy_with_a_tag_of_its_own(folder: Path) -> Scene:
    return wrong(folder, f"dataset: !{ZIP} x\n")


@failure(*ENTRY_POINTS, message="is not valid YAML: line")
def a_policy_with_an_unknown_anchor(folder: Path) -> Scene:
    return wrong(folder, f"dataset: *{ZIP}\n")


@failure(*ENTRY_POINTS, message="is not valid YAML: line")
def a_policy_that_calls_a_text_a_number(folder: Path) -> Scene:
    return wrong(folder, f"dataset: !!float {ZIP}\n")


@failure(*ENTRY_POINTS, message="a key is given twice")
def a_policy_that_names_a_value_twice(folder: Path) -> Scene:
    return wrong(folder, f"dataset: x\ncolumns:\n  zip: {{tree: {{'{ZIP}': 1, '{ZIP}': 2}}}}\n")


@failure(*ENTRY_POINTS, message="is not valid YAML")
def a_policy_that_is_no_text(folder: Path) -> Scene:
    return wrong(folder, f"dataset: \x00{NAME}\n")


@failure(*ENTRY_POINTS, message="more than once in the tree")
def a_tree_with_two_parents_of_one_value(folder: Path) -> Scene:
    return wrong(folder, with_hierarchy("zip", {"tree": {"*": {NAME: [ZIP], DISEASE: [ZIP]}}}))


@failure(*ENTRY_POINTS, message="does not cover")
def a_tree_of_uneven_depth(folder: Path) -> Scene:
    return wrong(folder, with_hierarchy("zip", {"tree": {"*": {NAME: {DISEASE: [ZIP]}, "x": [AGE]}}}))


@failure(*ENTRY_POINTS, message="does not cover")
def a_tree_that_is_none(folder: Path) -> Scene:
    return wrong(folder, with_hierarchy("zip", {"tree": {ZIP: NAME}}))


@failure(*ENTRY_POINTS, message="must be a number or a fraction")
def intervals_that_are_no_numbers(folder: Path) -> Scene:
    return wrong(folder, with_hierarchy("age", {"intervals": {"start": ZIP, "stop": AGE, "widths": [NAME]}}))


@failure(*ENTRY_POINTS, message="between 1 and 2")
def a_table_of_uneven_lines(folder: Path) -> Scene:
    return wrong(folder, with_hierarchy("zip", {"table": [[ZIP, NAME, "*"], [DISEASE, "*"]]}))


@failure(*ENTRY_POINTS, message="hierarchy rule table")
def a_table_that_is_none(folder: Path) -> Scene:
    return wrong(folder, with_hierarchy("zip", {"table": [{ZIP: NAME}]}))


@failure(*ENTRY_POINTS, message="hierarchy rule table")
def a_table_of_lists(folder: Path) -> Scene:
    return wrong(folder, with_hierarchy("zip", {"table": [[[ZIP], NAME], [ZIP]]}))


@failure(*ENTRY_POINTS, message="must be a number or a fraction")
def weights_that_are_no_numbers(folder: Path) -> Scene:
    asked = {"likelihood": {"age": {str(AGE): NAME}}, "danger": {"disease": {DISEASE: ZIP}}, "below": 0.5}
    return wrong(folder, policy({"privacy_score": asked}))


@failure(*ENTRY_POINTS, message="must be a number or a fraction")
def weights_of_sensitive_values_that_are_no_numbers(folder: Path) -> Scene:
    asked = {"knowledge": 1, "weights": {DISEASE: ZIP, NAME: 0.5}, "below": 0.5}
    return wrong(folder, policy({"maximum_disclosure": asked}))


@failure(*ENTRY_POINTS, message="danger weighs 1 value(s)")
def weights_of_values_that_are_not_there(folder: Path) -> Scene:
    asked = {"danger": {"disease": {NAME: 1}}, "below": 0.5}
    return wrong(folder, policy({"privacy_score": asked}))


@failure(*ENTRY_POINTS, message="1 row of the release holds a value that")
def labels_that_no_hierarchy_explains(folder: Path) -> Scene:
    rules = policy({"k_anonymity": {"at_least": 1}}, {"usability": {"at_least": 0.1}}, {"query_error": {"at_most": 1}})
    original = written(folder, frame().iloc[:-1], "original.csv")
    return Scene(data=written(folder), policy=rules, population=original)


@failure(*ENTRY_POINTS, message="whole numbers of at least 0")
def marginals_that_are_negative(folder: Path) -> Scene:
    asked = {"marginals": {"zip": {ZIP: -1}, "age": {AGE: NAME}}, "population_size": 9, "delta": [0, 1], "at_least": 1}
    return wrong(folder, policy({"presence_confidence": asked}))


@failure(*ENTRY_POINTS, message="needs counts: lines of 2 values and their count")
def joint_counts_without_a_value(folder: Path) -> Scene:
    joint = [{"columns": ["zip", "age"], "counts": [[ZIP, NAME]]}]
    asked = {"marginals": {}, "joint": joint, "population_size": 9, "delta": [0, 1], "at_least": 1}
    return wrong(folder, policy({"presence_confidence": asked}))


@failure(*ENTRY_POINTS, message="must be a number or a fraction")
def a_channel_that_is_none(folder: Path) -> Scene:
    asked = {"channel": [[NAME, ZIP], [AGE]], "attributes": ["age", "zip"], "at_most": 1}
    return wrong(folder, policy({"epsilon_dependence": asked}))


@failure(*ENTRY_POINTS, message="does not cover 5 value")
def options_of_the_wrong_kind(folder: Path) -> Scene:
    return wrong(folder, policy({"t_closeness": {"ground": {"tree": {"*": {DISEASE: {ZIP: 3}}}}, "at_most": 0.3}}))


@failure(*ENTRY_POINTS, message="must be a list of its values")
def domains_of_a_policy_that_are_none(folder: Path) -> Scene:
    rules = policy(BUDGET, anonymize={**SYNTHESIZE, "domains": {"disease": {DISEASE: 1}, "zip": ZIP}})
    return wrong(folder, rules)


@failure(*ENTRY_POINTS, message="values outside its declared domain")
def domains_of_a_policy_that_lack_values(folder: Path) -> Scene:
    address = _ledger(folder)
    domains = {"age": "occurring", "zip": "occurring", "disease": list("abcd")}
    rules = policy(BUDGET, anonymize={**SYNTHESIZE, "domains": domains})
    return Scene(data=written(folder), policy=rules, ledger=address)


@failure(*ENTRY_POINTS, message="needs epsilon")
def a_budget_that_is_spent(folder: Path) -> Scene:
    address = _ledger(folder, epsilon=0.01)
    return Scene(data=written(folder), policy=policy(BUDGET, anonymize=SYNTHESIZE), ledger=address)


@failure(*ENTRY_POINTS, message="no record of this table")
def a_lattice_whose_hierarchy_lacks_values(folder: Path) -> Scene:
    columns = {name: entry for name, entry in POLICY["columns"].items() if name != "disease"}
    rules = policy(BUDGET, columns=columns, anonymize=EPSILON_SAFE)
    data = pd.concat([frame().iloc[:-1]] * 10 + [frame()]).drop(columns="disease")
    return Scene(data=written(folder, data), policy=rules, ledger=_ledger(folder))


@failure("python", "dagster", "great expectations", message="no record of this table")
def a_table_that_no_draw_made(folder: Path) -> Scene:
    return Scene(data=frame(), policy=policy(BUDGET, anonymize=SYNTHESIZE), ledger=_ledger(folder))


@failure(*ENTRY_POINTS, message="the budget ledger cannot be opened")
def a_ledger_that_is_no_database(folder: Path) -> Scene:
    path = folder / "ledger.db"
    path.write_text(f"{NAME} {ZIP}" * 100)
    return Scene(data=written(folder), policy=policy(BUDGET, anonymize=SYNTHESIZE), ledger=f"sqlite:///{path}")


@failure(*ENTRY_POINTS, message="the budget ledger cannot be read")
def a_ledger_with_other_tables(folder: Path) -> Scene:
    """Its tables are there, but hold something else."""
    address = _ledger(folder)
    connection = sqlite3.connect(folder / "ledger.db")
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for name in tables:
        columns = [column[1] for column in connection.execute(f"PRAGMA table_info({name})")]
        connection.execute(f"DROP TABLE {name}")
        connection.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
        connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' for _ in columns)})", [ZIP] * len(columns))
        if "dataset" in columns:
            connection.execute(f"UPDATE {name} SET dataset = 'visits', unit = 'row'")
    connection.commit()
    connection.close()
    return Scene(data=written(folder), policy=policy(BUDGET, anonymize=SYNTHESIZE), ledger=address)


def _ledger(folder: Path, **cap: Any) -> str:
    address = f"sqlite:///{folder / 'ledger.db'}"
    open_ledger(address, **cap)
    return address
