"""The digest follows what a policy asks for, and nothing else."""

import pytest

import privacy_plugin as pp
from tests.policies import COMPLETE, changed

DIGEST = pp.Policy.from_dict(COMPLETE).digest


@pytest.mark.parametrize(
    "given",
    [
        changed(dataset="visit"),
        changed(columns__note=...),
        changed(columns__note="sensitive"),
        changed(columns__note="identifier"),
        changed(columns__other="insensitive"),
        changed(columns__age__hierarchy__intervals__widths=[10]),
        changed(columns__age__hierarchy__intervals__stop=150),
        changed(columns__age__hierarchy__intervals__open_ends=False),
        changed(columns__age__hierarchy=...),
        changed(columns__zip__hierarchy__mask__length=5),
        changed(columns__zip__hierarchy__mask__character="#"),
        changed(requirements__0__k_anonymity={"at_least": 6}),
        changed(requirements__0__k_anonymity={"above": 5}),
        changed(requirements__0__k_anonymity={"at_least": 5.000001}),
        changed(requirements__1__l_diversity__c=3),
        changed(requirements__1__l_diversity__c="2000001/1000000"),
        changed(requirements__1__l_diversity__variant="entropy", requirements__1__l_diversity__c=...),
        changed(requirements__1__l_diversity__sensitive="income"),
        changed(requirements__1__l_diversity__sensitive=...),
        changed(requirements__2__t_closeness__ground="equal"),
        changed(requirements__2__t_closeness__ground={"mask": {"length": 3}}),
        changed(requirements=COMPLETE["requirements"][:2]),
        changed(population="other_register"),
        changed(population=...),
        changed(anonymize__max_suppression=0.06),
        changed(anonymize=...),
    ],
)
def test_any_change_of_requirements_changes_the_digest(given):
    assert pp.Policy.from_dict(given).digest != DIGEST


def test_a_change_of_a_hierarchy_in_a_requirement_changes_the_digest():
    grounds = [{"mask": {"length": n}} for n in (3, 4)]
    digests = {pp.Policy.from_dict(changed(requirements__2__t_closeness__ground=g)).digest for g in grounds}
    assert len(digests) == 2


def test_order_in_a_tree_does_not_change_the_digest():
    trees = ({"a": ["x", "y"], "b": ["z"]}, {"b": ["z"], "a": ["y", "x"]})
    digests = {pp.Policy.from_dict(changed(columns__zip__hierarchy={"tree": tree})).digest for tree in trees}
    assert len(digests) == 1
    moved = pp.Policy.from_dict(changed(columns__zip__hierarchy={"tree": {"a": ["x"], "b": ["z", "y"]}}))
    assert moved.digest not in digests


def reordered(value):
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return [reordered(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "given",
    [
        reordered(COMPLETE),
        changed(columns__zip__why="another reason"),
        changed(columns__zip__why=...),
        changed(columns__note={"role": "insensitive", "why": "free of people"}),
        changed(version=...),
        changed(requirements=COMPLETE["requirements"][::-1]),
        changed(columns__age__hierarchy__intervals={"boundaries": [list(range(0, 101, 10)), [0, 50, 100]]}),
        changed(requirements__2__t_closeness__at_most="1/5"),
    ],
)
def test_key_order_reasons_and_notation_do_not_change_the_digest(given):
    assert pp.Policy.from_dict(given).digest == DIGEST


def test_comments_and_layout_do_not_change_the_digest(tmp_path):
    texts = (
        "dataset: d\ncolumns: {a: quasi_identifier}\nrequirements: [{preset: k5}]\n",
        "# signed off\nrequirements:\n- preset: k5 # common\n"
        "columns:\n  a: {role: quasi_identifier, why: x}\ndataset: 'd'\n",
    )
    digests = set()
    for text in texts:
        (tmp_path / "policy.yaml").write_text(text, encoding="utf-8")
        digests.add(pp.Policy.load(tmp_path / "policy.yaml").digest)
    assert len(digests) == 1


def test_the_rules_are_fixed_together_with_the_digest():
    """Changing the roles of a loaded policy changes neither rules nor digest."""
    policy = pp.Policy.from_dict(changed())
    before = policy.digest
    quasi_identifier = policy.quasi_identifiers[0]
    policy.roles[quasi_identifier] = "insensitive"
    assert policy.digest == before
    assert quasi_identifier in policy.quasi_identifiers
