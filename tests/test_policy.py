import textwrap
from copy import deepcopy

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.errors import PolicyError
from privacy_plugin.presets import contradictions, preset, preset_names

COMPLETE = {
    "version": 1,
    "dataset": "visits",
    "columns": {
        "name": "identifier",
        "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"start": 0, "stop": 100, "widths": [10, 50]}}},
        "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 4}}, "why": "public in the register"},
        "disease": "sensitive",
        "income": "sensitive",
        "note": "insensitive",
    },
    "requirements": [
        {"k_anonymity": {"at_least": 5}},
        {"l_diversity": {"variant": "recursive", "c": 2, "at_least": 2, "sensitive": "disease"}},
        {"t_closeness": {"at_most": 0.2, "ground": "ordered"}},
    ],
    "population": "register",
    "anonymize": {"max_suppression": 0.05, "loss": "precision"},
}


def changed(**changes):
    """Return the complete policy with something else at a path such as columns__age__role."""
    given = deepcopy(COMPLETE)
    for path, value in changes.items():
        *parents, last = path.split("__")
        inner = given
        for name in parents:
            inner = inner[int(name) if name.isdigit() else name]
        if value is ...:
            del inner[last]
        else:
            inner[int(last) if last.isdigit() else last] = value
    return given


def test_a_complete_policy():
    policy = pp.Policy.from_dict(COMPLETE)
    assert policy.quasi_identifiers == ("age", "zip")
    assert policy.sensitive == ("disease", "income")
    assert policy.rules.released == ("age", "zip", "disease", "income", "note")
    assert [str(requirement) for requirement in policy.requirements] == [
        "k_anonymity at least 5",
        "l_diversity(recursive, c=2, disease) at least 2",
        "t_closeness(ground=ordered, disease) at most 0.2",  # without a name it holds for each sensitive column
        "t_closeness(ground=ordered, income) at most 0.2",
    ]
    assert set(policy.hierarchies) == {"age", "zip"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "mapping"),
        ([], "mapping"),
        ("k_anonymity", "mapping"),
        ({}, "name of its dataset"),
        (changed(version=2), "version 2"),
        (changed(dataset=...), "name of its dataset"),
        (changed(dataset=""), "name of its dataset"),
        (changed(dataset=7), "name of its dataset"),
        (changed(columms={}), "did you mean 'columns'"),
        (changed(population=["register"]), "population must be"),
        (changed(columns=...), "needs columns"),
        (changed(columns={}), "needs columns"),
        (changed(columns=["age"]), "needs columns"),
        (changed(columns__age=None), "unknown role 'None'"),
        (changed(columns__age="quasi_identifer"), "did you mean 'quasi_identifier'"),
        (changed(columns__age="quasi-identifier"), "did you mean 'quasi_identifier'"),
        (changed(columns__age=["quasi_identifier"]), "unknown role"),
        (changed(columns__age={"rolle": "sensitive"}), "did you mean 'role'"),
        (changed(columns__age={"why": "because"}), "unknown role 'None'"),
        (changed(columns={True: "quasi_identifier"}), "put it in quotes"),
        (changed(columns={1: "quasi_identifier", "1": "sensitive"}), "put it in quotes"),
        (changed(columns={"": "quasi_identifier"}), "put it in quotes"),
        (changed(columns={"disease": "sensitive"}), "at least one quasi_identifier"),
        (changed(columns__name="unit", columns__note="unit"), "at most one unit"),
        (changed(columns__disease={"role": "sensitive", "hierarchy": {"mask": {"length": 3}}}), "no quasi_identifier"),
        (changed(columns__age__hierarchy=None), "hierarchy of column 'age'"),
        (changed(columns__age__hierarchy={"interval": {}}), "did you mean 'intervals'"),
        (changed(columns__age__hierarchy={"table": None}), "hierarchy of column 'age'"),
        (changed(columns__age__hierarchy="missing.csv"), "cannot read the hierarchy file"),
        (changed(columns__age__hierarchy={"table": [["a", "g", "1"], ["b", "g", "2"]]}), "separates"),
        (changed(requirements=...), "needs requirements"),
        (changed(requirements=[]), "needs requirements"),
        (changed(requirements={}), "needs requirements"),
        (changed(requirements="k5"), "needs requirements"),
        (changed(requirements={"k_anonymity": {"at_least": 5}}), "needs requirements"),
        (changed(requirements=["k_anonymity"]), "requirement 1 must be one metric"),
        (changed(requirements=[{}]), "requirement 1 must be one metric"),
        (changed(requirements=[{"k_anonymity": {"at_least": 5}, "l_diversity": {"at_least": 2}}]), "requirement 1"),
        (changed(requirements__1={"k_anonimity": {"at_least": 5}}), "requirement 2: .*did you mean 'k_anonymity'"),
        (changed(requirements__0={"k_anonymity": {}}), "has no limit"),
        (changed(requirements__0={"k_anonymity": None}), "has no limit"),
        (changed(requirements__0={"k_anonymity": 5}), "has no limit"),
        (
            changed(requirements__0={"k_anonymity": {"at_lest": 5}}),
            "'at_lest': did you mean 'at_least'",
        ),
        (changed(requirements__0={"k_anonymity": {"at_least": None}}), "exactly one limit"),
        (changed(requirements__0={"k_anonymity": {"at_least": "5"}}), "must be a number"),
        (changed(requirements__0={"k_anonymity": {"at_least": True}}), "must be a number"),
        (changed(requirements__0={"k_anonymity": {"at_least": 0}}), "at least 1"),
        (changed(requirements__0={"k_anonymity": {"at_most": 5}}), "safer when higher"),
        (changed(requirements__0={"k_anonymity": {"at_least": 5, "above": 4}}), "exactly one limit"),
        (changed(requirements__0={"k_anonymity": {"at_least": 5, "unit": "name"}}), "unknown option"),
        (changed(requirements__0={"k_anonymity": {"at_least": 5, "metric": "l_diversity"}}), "requirement 1"),
        (changed(requirements__0={"k_anonymity": {"at_least": 5, 7: 7}}), "unknown option"),
        (changed(requirements__1__l_diversity__variant="entropie"), "variant must be"),
        (changed(requirements__1__l_diversity__c=...), "c goes with"),
        (changed(requirements__1__l_diversity__sensitive="desease"), "did you mean 'disease'"),
        (changed(requirements__1__l_diversity__sensitive="age"), "unknown sensitive column"),
        (changed(requirements__1__l_diversity__sensitive=5), "sensitive must be text"),
        (changed(requirements__2__t_closeness__ground={"mask": {"length": 0}}), "length must be"),
        (changed(requirements__2__t_closeness__ground={"file": "missing.csv"}), "cannot read"),
        (changed(requirements__0={"preset": "k6"}), "unknown preset 'k6'"),
        (changed(requirements__0={"preset": None}), "unknown preset"),
        (changed(requirements__0={"preset": ["k5", "k11"]}), "unknown preset"),
        (changed(columns__disease="insensitive", columns__income="insensitive"), "sensitive"),
        (changed(anonymize="little"), "anonymize is a mapping"),
        (changed(anonymize__max_suppresion=0.1), "did you mean 'max_suppression'"),
        (changed(anonymize__max_suppression=5), "between 0 and 1"),
        (changed(anonymize__max_suppression=True), "between 0 and 1"),
        (changed(anonymize__max_suppression="5%"), "between 0 and 1"),
        (changed(anonymize__max_suppression=float("nan")), "between 0 and 1"),
        (changed(anonymize__loss="precission"), "did you mean 'precision'"),
        (changed(anonymize__loss=["precision"]), "unknown loss"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_malformed_policy_is_refused_in_words(given, words):
    with pytest.raises(PolicyError, match=words):
        pp.Policy.from_dict(given)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "dataset: visits\ncolumns: {a: quasi_identifier}\ncolumns: {}\nrequirements: []",
            "line 3, column 1: a key is given",
        ),
        ("dataset: visits\ncolumns: {a: quasi_identifier, a: insensitive}", "line 2, column 32: a key is given"),
        (
            "dataset: visits\nrequirements: [{k_anonymity: {at_least: 5, at_least: 1}}]",
            "line 2, column 44: a key is given",
        ),
        ("columns:\n  no: quasi_identifier\ndataset: d", "put it in quotes"),
        *(
            (f"requirements: [{{k_anonymity: {{at_least: {number}}}}}]", "in decimal digits")
            for number in ("010", "1:30", "1_0", "0x10", "0b11", "1:30.5", "1_0.5", "9" * 5000)
        ),
        ("columns:\n  2024: quasi_identifier\ndataset: d", "put it in quotes"),
        ("? [a, b]\n: 1", "one plain value"),
        ("? {a: 1}\n: 1", "one plain value"),
        ("a: [1", "not valid YAML: line 1, column 6: expected ..."),
        ("a: !!python/object/apply:os.system ['true']", "not valid YAML"),
        ("base: &b {a: 1}\ncolumns:\n  <<: *b", "not valid YAML"),
        ("a: &a [*a]", "not valid YAML"),
        ("a: {b: 2024-02-30}", "line 1, column 8: this is no value of its kind"),
        *((f"a: !!{kind} Qxzanne", "this is no value of its kind") for kind in ("float", "bool", "timestamp")),
        ("", "mapping"),
        ("- 1", "mapping"),
    ],
)
def test_every_malformed_file_is_refused_in_words(tmp_path, text, words):
    path = tmp_path / "policy.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError, match=words):
        pp.Policy.load(path)


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(PolicyError, match="FileNotFoundError"):
        pp.Policy.load(tmp_path / "missing.yaml")
    with pytest.raises(PolicyError, match="cannot read"):
        pp.Policy.load(tmp_path)
    (tmp_path / "latin.yaml").write_bytes("dataset: Zürich".encode("latin-1"))
    with pytest.raises(PolicyError, match="UnicodeDecodeError"):
        pp.Policy.load(tmp_path / "latin.yaml")


def test_hierarchy_files_are_found_next_to_the_policy(tmp_path):
    (tmp_path / "age.csv").write_text("30;30-39;*\n41;40-49;*\n", encoding="utf-8")
    (tmp_path / "policy.yaml").write_text(
        textwrap.dedent("""
            dataset: visits
            columns:
              age: {role: quasi_identifier, hierarchy: age.csv}
              pay: sensitive
            requirements:
              - k_anonymity: {at_least: 2}
              - t_closeness: {at_most: 0.5, ground: {file: age.csv}}
        """),
        encoding="utf-8",
    )
    policy = pp.Policy.load(tmp_path / "policy.yaml")
    assert policy.hierarchies["age"].generalize(41, 1) == "40-49"
    digest = policy.digest
    (tmp_path / "age.csv").write_text("30;30-39;*\n41;30-39;*\n", encoding="utf-8")
    assert pp.Policy.load(tmp_path / "policy.yaml").digest != digest


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
def test_any_change_of_what_is_asked_changes_the_digest(given):
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
def test_order_of_keys_reasons_and_ways_of_writing_do_not_change_the_digest(given):
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


def test_presets_carry_their_source():
    assert set(preset_names()) >= {"k5", "k11", "risk_0.09"}
    assert [str(r) for r in preset("k5")] == ["k_anonymity at least 5"]
    assert [str(r) for r in preset("risk_0.09")] == ["reidentification_risk(highest) at most 0.09"]
    for name in preset_names():
        assert all(requirement.origin.startswith(f"preset {name}: ") for requirement in preset(name))
    with pytest.raises(PolicyError, match="valid: k11, k5"):
        preset("notes")


def test_presets_that_contradict_each_other_are_noted_and_the_stricter_one_decides():
    policy = pp.Policy.from_dict(changed(requirements=[{"preset": "k11"}, {"preset": "risk_0.09"}]))
    (note,) = policy.notes
    assert "1/11" in note
    assert "12" in note
    assert not pp.Policy.from_dict(changed(requirements=[{"preset": "k11"}])).notes
    assert contradictions(["risk_0.09", "k5"]) == ()
    for people, passed in ((11, False), (12, True)):
        frame = pd.DataFrame({"age": 30, "zip": "1", "disease": "flu", "income": 1, "note": ""}, index=range(people))
        verdict = policy.judge(frame)
        assert verdict.passed is passed
        assert verdict.notes == (note,)
        assert verdict.findings[0].passed


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ({"k_anonymity": {"at_least": 1}}, "k_anonymity at least 1 is the weakest limit there is"),
        ({"reidentification_risk": {"at_most": 1}}, "reidentification_risk at most 1 is the weakest limit there is"),
        ({"delta_presence": {"between": [0, 1]}}, "delta_presence between 0 and 1 is the weakest limit there is"),
        ({"k_anonymity": {"at_least": 2}}, None),
        ({"k_anonymity": {"above": 1}}, None),
        ({"reidentification_risk": {"below": 1}}, None),
        ({"delta_presence": {"between": [0, 0.9]}}, None),
    ],
)
def test_a_limit_that_asks_for_nothing_is_told(line, note):
    """Somebody turned it down to see the gate open: the record says so."""
    policy = pp.Policy.from_dict(changed(requirements=[line]))
    assert policy.notes == (() if note is None else (note,))


def test_what_is_judged_is_what_the_digest_names():
    """Roles that somebody changes in a policy that is already in use change neither."""
    policy = pp.Policy.from_dict(changed())
    before = policy.digest
    quasi_identifier = policy.quasi_identifiers[0]
    policy.roles[quasi_identifier] = "insensitive"
    assert policy.digest == before
    assert quasi_identifier in policy.quasi_identifiers
