"""`init`: proposed, explained, measured, and closed until a person has reviewed it."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.demo.hospital import generate_hospital
from privacy_plugin.errors import EmptyTableError, PolicyError
from privacy_plugin.proposals import uniqueness
from privacy_plugin.proposals.column_profile import kind_of_values
from privacy_plugin.proposals.policy_text import policy_text
from privacy_plugin.proposals.proposal import ColumnProposal, propose
from privacy_plugin.requirements.specification import hierarchy_from_specification
from privacy_plugin.sources.sql.files import FileSource
from tests.cli.conftest import Run, leaks, words


@pytest.fixture(scope="module")
def visits() -> pd.DataFrame:
    return generate_hospital(2_000, seed=7)[0]


@pytest.fixture(scope="module")
def proposed(visits: pd.DataFrame) -> dict[str, ColumnProposal]:
    return {column.name: column for column in propose(visits, dataset="visits").columns}


def test_roles_of_hospital_visits(proposed: dict[str, ColumnProposal]) -> None:
    assert {name: column.role for name, column in proposed.items()} == {
        "patient_id": "identifier",
        "age": "quasi_identifier",
        "sex": "quasi_identifier",
        "zip": "quasi_identifier",
        "occupation": "quasi_identifier",
        "admission_date": "quasi_identifier",
        "diagnosis": "sensitive",
        "length_of_stay": None,
        "cost": None,
    }


def unique(frame: pd.DataFrame, columns: list[str]) -> float:
    sizes = frame.groupby(columns, dropna=False).size()
    return float((sizes == 1).sum() / len(frame))


def test_uniqueness_is_measured(visits: pd.DataFrame, proposed: dict[str, ColumnProposal]) -> None:
    known = [name for name, column in proposed.items() if column.role == "quasi_identifier"]
    for name in known:
        column = proposed[name]
        assert column.unique_alone == pytest.approx(unique(visits, [name]))
        assert column.unique_with == pytest.approx(unique(visits, known))
        assert column.unique_without == pytest.approx(unique(visits, [other for other in known if other != name]))
    cost = proposed["cost"]
    assert cost.unique_with == pytest.approx(unique(visits, [*known, "cost"]))
    assert cost.unique_without == pytest.approx(unique(visits, known))
    assert proposed["diagnosis"].unique_with is None


def test_hierarchies_cover_the_table_they_were_proposed_for(visits: pd.DataFrame) -> None:
    text = policy_text(propose(visits, dataset="visits", reveal=True))
    reviewed = reviewed_by_a_person(text, {"length_of_stay": "insensitive", "cost": "insensitive"})
    policy = pp.Policy.from_dict(yaml.safe_load(reviewed))
    assert set(policy.hierarchies) == set(policy.quasi_identifiers)
    for name, hierarchy in policy.hierarchies.items():
        hierarchy.levels(pp.frequency_table(visits, [name]).dictionary(name), column=name)


@pytest.mark.parametrize("sensitive", [["diagnosis"], ["diagnosis", "salary"]])
def test_the_proposed_privacy_score_fails_on_the_raw_table_and_is_met_by_the_release(sensitive: list[str]) -> None:
    """The average of the raw table is below a half, so that a limit on it would have passed."""
    rows = 60
    people = pd.DataFrame(
        {
            "age": [20 + i % 30 for i in range(rows)],
            "sex": [["f", "m"][i % 2] for i in range(rows)],
            **{name: [f"v{(i * 7 + place) % 5}" for i in range(rows)] for place, name in enumerate(sensitive)},
        }
    )
    text = policy_text(propose(people, dataset="visits"))
    policy = pp.Policy.from_dict(yaml.safe_load(reviewed_by_a_person(text, {})))
    (score,) = [requirement for requirement in policy.requirements if requirement.metric == "privacy_score"]
    assert score.options["likelihood"] == {"age": 1, "sex": 1}
    assert score.options["danger"] == dict.fromkeys(sensitive, 1)
    roles = {"age": "quasi_identifier", "sex": "quasi_identifier", **dict.fromkeys(sensitive, "sensitive")}
    by_role = pp.privacy_score(people, attributes=list(roles), roles=roles, statistic="maximum")
    raw = score.judge(people, attributes=list(roles))
    assert (raw.passed, raw.value) == (False, by_role.value)
    released = anonymize(people, policy=policy).made
    verdict = policy.judge(released)
    assert verdict.passed, verdict.reasons
    assert not any("average" in note for note in verdict.notes)


def test_no_privacy_score_is_proposed_for_people_with_several_rows() -> None:
    visits = pd.DataFrame({"patient_id": [1, 1, 2, 2, 3, 3], "age": [3, 3, 4, 4, 5, 5], "diagnosis": list("ababab")})
    proposal = propose(visits, dataset="visits")
    assert proposal.named("unit") == ("patient_id",)
    assert "privacy_score" not in policy_text(proposal)


def reviewed_by_a_person(text: str, decisions: dict[str, str]) -> str:
    lines = [line for line in text.splitlines() if not line.startswith("unreviewed:")]
    return "\n".join(
        f"  {line.strip()[2:].replace('<role>', decisions[line.split()[1].rstrip(':')])}" if "<role>" in line else line
        for line in lines
    )


def test_a_proposal_is_closed_until_it_is_reviewed(tmp_path: Path, visits: pd.DataFrame, run: Run) -> None:
    data, policy = tmp_path / "visits.csv", tmp_path / "policy.yaml"
    visits.to_csv(data, index=False)
    assert run("init", data, "--output", policy).exit_code == 0
    text = policy.read_text(encoding="utf-8")
    unread = run("check", data, "-p", policy, "--without-identifiers")
    assert unread.exit_code == 2
    assert "unreviewed proposal" in words(unread)
    # the line is gone, but two columns have no role: still closed
    policy.write_text("\n".join(line for line in text.splitlines() if not line.startswith("unreviewed:")))
    hasty = run("check", data, "-p", policy, "--without-identifiers")
    assert hasty.exit_code == 2
    assert "column 'cost' has no role in the policy" in words(hasty)
    policy.write_text(reviewed_by_a_person(text, {"length_of_stay": "insensitive", "cost": "sensitive"}))
    assert run("check", data, "-p", policy, "--without-identifiers").exit_code == 1


def test_every_proposed_role_has_a_reason(visits: pd.DataFrame) -> None:
    text = policy_text(propose(visits, dataset="visits"))
    assert "method: generalize_locally  # or generalize, multidimensional_presence, bucketize, greedy_repair" in text
    entries = yaml.safe_load(text)["columns"]
    assert "with the other quasi-identifiers" in entries["zip"]["why"]
    assert all("distinct values" in entry["why"] for entry in entries.values())
    assert "# cost: NO ROLE YET." in text
    with pytest.raises(PolicyError, match="unreviewed proposal"):
        pp.Policy.from_dict(yaml.safe_load(text))


def test_only_the_output_is_written(folder: Path, run: Run) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    printed = run("init", folder / "visits.csv")
    assert yaml.safe_load(printed.stdout)["dataset"] == "visits"
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    taken = run("init", folder / "visits.csv", "-o", folder / "policy.yaml")
    assert taken.exit_code == 2
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert run("init", folder / "visits.csv", "-o", folder / "policy.yaml", "--force").exit_code == 0
    assert "unreviewed" in (folder / "policy.yaml").read_text()


def test_values_are_listed_only_with_reveal(run: Run, tmp_path: Path) -> None:
    frame = pd.DataFrame({"gender": ["zqsecret", "other", "third", "fourth"] * 20, "age": range(80)})
    frame.to_csv(tmp_path / "visits.csv", index=False)
    assert run("init", tmp_path / "visits.csv").exit_code == 0
    revealed = run("init", tmp_path / "visits.csv", "--reveal", reveals=True)
    assert leaks(revealed.stdout) == ["zqsecret"]


def roles(**columns: object) -> dict[str, str | None]:
    return {column.name: column.role for column in propose(pd.DataFrame(columns), dataset="x").columns}


def test_a_key_is_recognized_by_its_values() -> None:
    found = roles(reference=[f"k{n}" for n in range(100)], number=range(100), measure=[n + 0.5 for n in range(100)])
    assert found == {"reference": "identifier", "number": "identifier", "measure": None}


def test_a_key_named_like_a_quasi_identifier_gets_no_role() -> None:
    """A generalized visit number would still reveal the order of visits."""
    names = ["visit_no", "admission_no", "job_number", "household_id", "Besuch"]
    codes = roles(**{name: [f"V{n:06d}" for n in range(100)] for name in names})
    texts = roles(**{name: [f"V{n}" for n in range(1_200)] for name in names})
    numbers = roles(**dict.fromkeys(names, range(1_000, 1_100)), order_no=range(100))
    assert codes == texts == dict.fromkeys(names)
    assert numbers == {**dict.fromkeys(names), "order_no": "identifier"}
    (visit,) = propose(pd.DataFrame({"visit_no": range(100)}), dataset="x").columns
    assert visit.reason == "its name suggests a quasi-identifier, but every row has a different value, like a key"


def test_quasi_identifiers_may_be_unique_by_chance() -> None:
    found = roles(
        zip=[f"{n:05d}" for n in range(100)],
        plz=range(8_000, 8_100),
        city=[f"town {n}" for n in range(100)],
        birth_date=[f"19{n // 10}{n % 10}-01-01" for n in range(100)],
        height=[1.5 + n / 1000 for n in range(100)],
    )
    assert found == dict.fromkeys(found, "quasi_identifier")
    assert roles(age=range(40)) == {"age": "quasi_identifier"}


def test_uniqueness_is_ignored_in_a_small_table() -> None:
    assert roles(colour=["red", "green", "blue"]) == {"colour": None}


def test_a_repeated_key_of_people_is_the_unit() -> None:
    found = roles(
        patient_id=[n // 2 for n in range(100)], age=[30] * 50 + [40] * 50, other_id=[n // 2 for n in range(100)]
    )
    assert found == {"patient_id": "unit", "age": "quasi_identifier", "other_id": None}
    assert roles(hospital_id=[n % 2 for n in range(200)]) == {"hospital_id": None}
    assert roles(patient_id=[None, *(n // 2 for n in range(99))]) == {"patient_id": None}


def test_shared_values_of_a_key_are_reported() -> None:
    """Copied rows would count as people, and make small classes look large enough."""
    frame = pd.DataFrame({"patient_id": [*range(98), 0, 1], "email": [f"p{n // 99}@x.org" for n in range(100)]})
    patient, email = propose(frame, dataset="x").columns
    assert patient.role == "identifier"
    assert "4 rows share a value: keep one row per person, or use the role unit" in patient.reason
    assert "share" not in email.reason


def test_people_with_several_rows_are_counted_once() -> None:
    frame = pd.DataFrame({"patient_id": [n // 2 for n in range(100)], "age": [n // 2 for n in range(100)]})
    (age,) = [column for column in propose(frame, dataset="x").columns if column.name == "age"]
    assert age.unique_with == 1.0  # each age belongs to one person, though to two rows


def test_a_person_with_a_hundred_unique_rows_counts_once() -> None:
    rows = [(0, f"street {number}") for number in range(100)]
    rows += [(person, "home") for person in range(1, 100) for _ in range(2)]
    found = propose(pd.DataFrame(rows, columns=["patient_id", "city"]), dataset="x")
    (city,) = [column for column in found.columns if column.name == "city"]
    assert city.unique_alone == 0.01


def test_uniqueness_of_one_column_counts_people(tmp_path: Path, run: Run) -> None:
    """With two rows per person no value is unique among rows, although every person is unique by it."""
    persons = [n // 2 for n in range(100)]
    born = [f"19{n + 10}-01-01" for n in persons]
    frame = pd.DataFrame({"patient_id": persons, "birth_date": born, "diagnosis": born, "cost": born, "ward": 1})
    found = {column.name: column.unique_alone for column in propose(frame, dataset="x").columns}
    assert found == {"patient_id": None, "birth_date": 1.0, "diagnosis": 1.0, "cost": 1.0, "ward": 0.0}
    text = policy_text(propose(frame, dataset="x"))
    assert [line.count("alone it makes") for line in text.splitlines() if "why:" in line] == [0, 1, 1, 1]
    frame.to_csv(tmp_path / "visits.csv", index=False)
    printed = run("init", tmp_path / "visits.csv", "-o", tmp_path / "proposal.yaml").output.splitlines()
    assert ["100.0%" in line for line in printed if line.split()[:1] in (["patient_id"], ["birth_date"])] == [
        False,
        True,
    ]


def wide(columns: int) -> pd.DataFrame:
    """Two rows per person, with quasi-identifiers and columns without a role, some of which distinguish people."""
    words, drawn = ("age", "city", "x"), np.random.default_rng(7)
    drawn_columns = {f"{words[n % 3]} {n}": drawn.integers(0, 2 if n < 9 else 1, 60) for n in range(columns)}
    return pd.DataFrame({"patient_id": range(60), **drawn_columns}).loc[lambda frame: frame.index.repeat(2)]


def asked_by_proposing(frame: pd.DataFrame, path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    frame.to_csv(path, index=False)
    asked, ask = [0], FileSource.frequencies

    def counted(source: FileSource, columns: Sequence[str], *, unit: str | None = None) -> pp.FrequencyTable:
        asked[0] += 1
        return ask(source, columns, unit=unit)

    with monkeypatch.context() as patched:
        patched.setattr(FileSource, "frequencies", counted)
        propose(path, dataset="x")
    return asked[0]


@pytest.mark.parametrize("unit", [True, False])
def test_columns_are_grouped_in_few_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: bool) -> None:
    """Every query reads all columns: one query per column would cost the square of their number."""
    few, many = [wide(n) if unit else wide(n).drop(columns="patient_id") for n in (12, 48)]
    path = tmp_path / "visits.csv"
    asked = asked_by_proposing(few, path, monkeypatch)
    assert asked_by_proposing(many, path, monkeypatch) == asked <= 4


@pytest.mark.parametrize("unit", [True, False])
def test_large_tables_give_the_same_measurements(monkeypatch: pytest.MonkeyPatch, unit: bool) -> None:
    frame = wide(12) if unit else wide(12).drop(columns="patient_id")
    held = propose(frame, dataset="x")
    for cells in (1, 120 * 5):  # a column at a time, and a few
        monkeypatch.setattr(uniqueness, "_MOST_CELLS_HELD", cells)
        assert propose(frame, dataset="x") == held


def test_bisection_gives_the_same_shares_as_single_columns() -> None:
    frame = wide(14)
    people = frame.groupby("patient_id").first()
    columns = {column.name: column for column in propose(frame, dataset="x").columns}
    known = [name for name, column in columns.items() if column.role == "quasi_identifier"]
    undecided = [name for name, column in columns.items() if column.role is None]
    assert len(known) == 10
    assert len({columns[name].unique_without for name in known}) > 2
    assert len({columns[name].unique_with for name in undecided}) > 2  # some tell people apart, and some do not
    for name in known:
        assert columns[name].unique_without == unique(people, [other for other in known if other != name])
    for name in undecided:
        assert columns[name].unique_with == unique(people, [*known, name])


def test_a_constant_column_is_not_proposed_as_insensitive() -> None:
    """In a table of one row every column is constant: name and diagnosis would be released unchanged."""
    assert roles(email=["a@x.org"] * 5, age=[30] * 5, diagnosis=["flu"] * 5, nothing=[None] * 5) == {
        "email": "identifier",
        "age": "quasi_identifier",
        "diagnosis": "sensitive",
        "nothing": None,
    }
    assert roles(name=["Ann"], note=["x"]) == {"name": "identifier", "note": None}


def test_a_name_that_suggests_two_roles_gets_none() -> None:
    repeated = [f"v{n // 4}" for n in range(100)]
    names = ["disease_onset_year", "therapy_patient_id", "diagnosis_name", "report_id"]
    found = roles(**dict.fromkeys(names, repeated))
    assert found == {names[0]: None, names[1]: None, names[2]: "sensitive", names[3]: "unit"}


def test_names_in_german_and_french() -> None:
    repeated = [f"v{n // 4}" for n in range(100)]
    wanted = {
        "identifier": ["Nachname", "Straße", "Steuernummer", "E-Mail", "prénom", "NUMÉRO_RUE"],
        "quasi_identifier": [
            "Geschlecht",
            "Größe",
            "Geburtsjahr",
            "Staatsangehörigkeit",
            "âge",
            "code_postal",
            "ville",
        ],
        "sensitive": ["Diagnose", "Jahreseinkommen", "Hauptdiagnose", "maladie", "salaire"],
        "unit": ["Patientennummer", "Versichertennummer"],
        None: ["Kosten", "coût", "Messwert"],
    }
    for role, names in wanted.items():
        for name in names:
            assert roles(**{name: repeated}) == {name: role}


def test_personal_values_are_identifiers_under_any_name() -> None:
    for value in (
        "p{}@x.org",
        "+49 30 10000{}",
        "079 123 45 {}",
        "CH93 0076 2011 6238 52{}",
        "756.1234.56{}.97",
        "123-45-67{}",
    ):
        values = [value.format(10 + n // 10) for n in range(100)]
        assert roles(column=[*values, "unbekannt"]) == {"column": "identifier"}


def test_amounts_are_not_keys_and_dates_are_recognized_in_any_format() -> None:
    def rising(*texts: str) -> list[str]:
        return [text.format(n) for n in range(10, 90) for text in texts]

    found = roles(
        a=rising("1.2{},56", "7{},5"),
        b=rising("1,0{}.50 CHF", "{} CHF"),
        c=rising("10.000.0{}", "20.000.0{}"),  # a key, written in groups
        d=[f"{n % 28 + 1:02d}.{n % 12 + 1:02d}.19{n % 90 + 10}" for n in range(160)],
        e=[f"{n % 12 + 1}/{n % 28 + 1}/{n % 90 + 10}" for n in range(160)],
    )
    assert found == {"a": None, "b": None, "c": "identifier", "d": "quasi_identifier", "e": "quasi_identifier"}


@pytest.mark.parametrize(
    ("texts", "format"),
    [
        (["29.02.1984", "1.3.1990"], "%d.%m.%Y"),
        (["29/02/1984", "01/12/1990"], "%d/%m/%Y"),
        (["02/29/1984", "01/12/1990"], "%m/%d/%Y"),
        (["1984/02/29 10:00"], "%Y/%m/%d %H:%M"),
        (["01/02/1984"], None),  # the second of January?
        (["29.02.1984", "1984-02-29"], None),
        (["29.02.84"], None),
    ],
)
def test_a_date_hierarchy_reads_the_dates_it_was_proposed_for(texts: list[str], format: str | None) -> None:
    (column,) = propose(pd.DataFrame({"seen": texts * 30}), dataset="x", header=True).columns
    assert column.role == "quasi_identifier"
    if format is None:
        assert column.hierarchy is None
        return
    assert column.hierarchy == {"dates": {"levels": ["month", "year", "decade"], "format": format}}
    hierarchy_from_specification(column.hierarchy).levels(texts, column="seen")


def test_an_empty_table_raises_an_error() -> None:
    with pytest.raises(EmptyTableError):
        propose(pd.DataFrame({"age": []}), dataset="x")


def test_names_that_yaml_would_misread_are_quoted() -> None:
    names = ["yes", "a: b", "# zip code", "line\nbreak age", 'quote" name', "ü 😀 id", "null", "1", "-", "plain age"]
    frame = pd.DataFrame({name: [f"{n}" for n in range(60)] if "id" in name else [1, 2] * 30 for name in names})
    proposal = propose(frame, dataset="a: b\n# c")
    loaded = yaml.safe_load(policy_text(proposal))
    assert loaded["dataset"] == "a: b\n# c"
    assert set(loaded["columns"]) == {column.name for column in proposal.columns if column.role}
    assert {"line\nbreak age", "# zip code", "ü 😀 id", "plain age"} <= set(loaded["columns"])
    opened = policy_text(proposal).replace("<role>", "insensitive").splitlines()
    roles = yaml.safe_load("\n".join(line[2:].lstrip("# ") for line in opened if "insensitive" in line and ":" in line))
    assert {"yes", "a: b", "null", "1"} <= {str(name) for name in roles}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([], "empty"),
        ([True, False], "boolean"),
        ([1, 2.5], "number"),
        (["1", "-2.5"], "number"),
        (["02138", "10001"], "code"),
        (["A1", "B2"], "code"),
        (["2024-01-01", "2024-01-01T10:00:00"], "date"),
        (["2024", "1999"], "number"),
        (["one", "three"], "text"),
        ([1, "one"], "text"),
    ],
)
def test_kinds_of_values(values: list[object], kind: str) -> None:
    assert kind_of_values(values) == kind  # type: ignore[arg-type]


def test_a_proposal_without_quasi_identifiers_states_no_uniqueness() -> None:
    frame = pd.DataFrame({f"c{n}": [(row >> n) & 1 for row in range(64)] for n in range(6)})
    proposal = propose(frame, dataset="bits")
    assert (proposal.unique_share, proposal.unique_share_open) == (0.0, 1.0)
    text = policy_text(proposal)
    assert "No quasi-identifier is proposed. With all columns that have no role yet it would be 100.0%." in text


def test_a_column_that_repeats_another_is_named() -> None:
    numbers = {"School": 1, "College": 2, "Other": 3}
    names = [*numbers] * 20
    found = propose(pd.DataFrame({"education": names, "education-num": [numbers[n] for n in names]}), dataset="x")
    assert [column.same_as for column in found.columns] == [None, "education"]


def test_groups_by_a_sensitive_column_are_made_only_with_reveal(run: Run, tmp_path: Path) -> None:
    frame = pd.DataFrame({"job": ["cook", "maid", "lord", "king"] * 20, "income": ["low", "low", "high", "high"] * 20})
    frame.to_csv(tmp_path / "people.csv", index=False)
    refused = run("init", tmp_path / "people.csv", "--group-by", "income")
    assert refused.exit_code == 2
    made = run("init", tmp_path / "people.csv", "--group-by", "income", "--reveal", reveals=True)
    assert "depends on sensitive values" in made.stdout
