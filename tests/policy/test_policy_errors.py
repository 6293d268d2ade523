"""Every malformed policy raises an error that names the place."""

import pytest

import privacy_plugin as pp
from privacy_plugin.errors import PolicyError
from tests.policies import changed


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
        (changed(dataset=2024), 'name of its dataset as a string: .*"2024"'),
        (changed(columms={}), "did you mean 'columns'"),
        (changed(population=["register"]), "population must be"),
        (changed(columns=...), "needs columns"),
        (changed(columns={}), "needs columns"),
        (changed(columns=["age"]), "needs columns"),
        (changed(columns__age=None), "column 'age' has no role; give it one of identifier, "),
        (changed(columns__age="quasi_identifer"), "did you mean 'quasi_identifier'"),
        (changed(columns__age="quasi-identifier"), "did you mean 'quasi_identifier'"),
        (changed(columns__age=["quasi_identifier"]), "the role of column 'age' must be a string"),
        (changed(columns={"sensitive": ["age"]}), "Write the column, then its role"),
        (changed(columns__age={"rolle": "sensitive"}), "did you mean 'role'"),
        (changed(columns__age={"why": "because"}), "column 'age' has no role"),
        (changed(columns={True: "quasi_identifier"}), "put it in quotes"),
        (changed(columns={1: "quasi_identifier", "1": "sensitive"}), "put it in quotes"),
        (changed(columns={"": "quasi_identifier"}), "put it in quotes"),
        (changed(columns={"disease": "sensitive"}), "at least one column with the role quasi_identifier"),
        (changed(columns__name="unit", columns__note="unit"), "at most one column with the role unit"),
        (
            changed(columns__disease={"role": "sensitive", "hierarchy": {"mask": {"length": 3}}}),
            "role is not quasi_identifier",
        ),
        (changed(columns__age__hierarchy=None), "hierarchy of column 'age'"),
        (changed(columns__age__hierarchy={"interval": {}}), "did you mean 'intervals'"),
        (changed(columns__age__hierarchy={"table": None}), "hierarchy of column 'age'"),
        (changed(columns__age__hierarchy="missing.csv"), "cannot read the hierarchy file"),
        (changed(columns__age__hierarchy={"table": [["a", "g", "1"], ["b", "g", "2"]]}), "separates"),
        (changed(requirements=...), "needs a list of requirements"),
        (changed(requirements=[]), "needs a list of requirements"),
        (changed(requirements={}), "needs a list of requirements"),
        (changed(requirements="k5"), "needs a list of requirements"),
        (changed(requirements=[{"k_anonymity": {"k": 5}}]), "no option 'k'; write at_least instead"),
        (
            changed(requirements=[{"maximum_disclosure": {"k": 1, "below": 0.5}}]),
            "no option 'k'; write knowledge instead",
        ),
        (changed(requirements=[{"reidentification_risk": {"at_least": 50}}]), "use at_most or below, not at_least"),
        (changed(requirements={"k_anonymity": {"at_least": 5}}), "needs a list of requirements"),
        (changed(requirements=["k_anonymity"]), "requirement 1 must be one metric .* or preset: k5"),
        (changed(requirements=[{}]), "requirement 1 must be one metric"),
        (changed(requirements=[{"k_anonymity": {"at_least": 5}, "l_diversity": {"at_least": 2}}]), "requirement 1"),
        (changed(requirements__1={"k_anonimity": {"at_least": 5}}), "requirement 2: .*did you mean 'k_anonymity'"),
        (changed(requirements__0={"k_anonymity": {}}), "has no limit"),
        (changed(requirements__0={"k_anonymity": None}), "has no limit"),
        (changed(requirements__0={"k_anonymity": 5}), r"has no limit; write k_anonymity: \{at_least: \.\.\.\} or"),
        (changed(requirements__0={"delta_presence": 5}), r"write delta_presence: \{between: \[low, high\]\}"),
        (changed(requirements__0={"k": 5}), "requirement 1: unknown metric 'k'"),
        (
            changed(requirements__0={"k_anonymity": {"at_lest": 5}}),
            "'at_lest': did you mean 'at_least'",
        ),
        (changed(requirements__0={"k_anonymity": {"at_least": None}}), "exactly one limit"),
        (changed(requirements__0={"k_anonymity": {"at_least": "5"}}), "must be a number .*without quotes"),
        (changed(requirements__0={"k_anonymity": {"at_least": "20%"}}), "must be a number .*write 0.2 for 20%"),
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
        (changed(requirements__1__l_diversity__sensitive=5), "sensitive must be a string"),
        (changed(requirements__2__t_closeness__ground={"mask": {"length": 0}}), "length must be"),
        (
            changed(requirements__2__t_closeness__ground={"mask": {"len": 3}}),
            "mask has an unknown parameter; valid: length",
        ),
        (changed(requirements__2__t_closeness__ground={"file": "missing.csv"}), "cannot read"),
        (changed(requirements__0={"preset": "k6"}), "unknown preset 'k6'"),
        (changed(requirements__0={"preset": None}), "unknown preset"),
        (changed(requirements__0={"preset": ["k5", "k11"]}), "unknown preset"),
        (changed(columns__disease="insensitive", columns__income="insensitive"), "sensitive"),
        (changed(anonymize="little"), "anonymize must be a mapping"),
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
def test_every_malformed_policy_raises_a_policy_error(given, words):
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
        *(
            (f"requirements: [{{reidentification_risk: {{at_most: {number}}}}}]", "more digits than a float holds")
            for number in ("0.09999999999999999999", "1e-400", "1e-9999999999999999999", "1.0e+400")
        ),
        ("columns:\n  2024: quasi_identifier\ndataset: d", "put it in quotes"),
        ("? [a, b]\n: 1", "a key must be a scalar"),
        ("? {a: 1}\n: 1", "a key must be a scalar"),
        ("a: [1", "not valid YAML: line 1, column 6: expected ',' or ']', but got '<stream end>'"),
        ("a: [1, 2}", "column 9: expected ',' or ']', but got '}'"),
        ("columns:\n  age: sensitive\n  Qxzanne\n  zip: sensitive", "line 3, column 3: expected ':' after a name$"),
        ("columns:\n  age: sensitive\n zip: sensitive", "line 3, column 2: the indentation differs"),
        ("a: Qxzanne: b", "column 11: an unexpected ':', .*; put text in quotes$"),
        ("a: *Qxzanne", "aliases are not supported; put text in quotes"),
        ('a: "\\q"', r"found unknown escape character \.\.\. "),
        ("columns:\n\tage: sensitive", "line 2, column 1: a tab; indent with spaces"),
        ("a: @Qxzanne", r"found character '@' that cannot start any token \(put text in quotes\)"),
        ("tree: {*: [Qxzanne]}", r"but found ':' \(put text in quotes\)"),
        ("a: !!python/object/apply:os.system ['true']", "not valid YAML"),
        ("base: &b {a: 1}\ncolumns:\n  <<: *b", "not valid YAML"),
        ("a: &a [*a]", "not valid YAML"),
        ("a: {b: 2024-02-30}", "line 1, column 8: invalid value"),
        *((f"a: !!{kind} Qxzanne", "invalid value") for kind in ("float", "bool", "timestamp")),
        ("", "mapping"),
        ("- 1", "mapping"),
    ],
)
def test_every_malformed_file_raises_a_policy_error(tmp_path, text, words):
    path = tmp_path / "policy.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError, match=words):
        pp.Policy.load(path)


def test_an_error_names_the_policy_file(tmp_path):
    path = tmp_path / "visits.yaml"
    path.write_text("dataset: visits\ncolumns: {age: senitive}", encoding="utf-8")
    with pytest.raises(PolicyError, match=r"visits\.yaml': column 'age': unknown role"):
        pp.Policy.load(path)


def test_an_unreadable_file_raises_a_policy_error(tmp_path):
    with pytest.raises(PolicyError, match="No such file"):
        pp.Policy.load(tmp_path / "missing.yaml")
    with pytest.raises(PolicyError, match="cannot read"):
        pp.Policy.load(tmp_path)
    (tmp_path / "latin.yaml").write_bytes("dataset: Zürich".encode("latin-1"))
    with pytest.raises(PolicyError, match="not UTF-8; convert it"):
        pp.Policy.load(tmp_path / "latin.yaml")
