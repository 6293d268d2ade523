"""The first line of a file that `init` reads: names of columns, or a row that must not be shown as such."""

from pathlib import Path

import pandas as pd
import pytest

from privacy_plugin.errors import ColumnError
from privacy_plugin.proposals.proposal import propose
from tests.cli.conftest import Run, words

# What would pass for names is what one person has.
HEADLESS = {
    "values that repeat": [f"K{n},{(7, 23, 68)[n % 3]},{('zqillness', 'flu')[n % 2]}" for n in range(90)],
    "two rows": ["zqname,34,flu", "Bob,41,cold"],
    "two rows of text": ["zqname,f,flu", "Bob,m,cold"],
    "one column": ["zqname", "Bob", "Eve"],
    "a date": ["zqname,1980-01-01", "Bob,1990-12-31"],
    "few that repeat": ["zqtown,zqflu", *["Bern,flu", "Basel,cold"] * 10],
    "keys": ["ZQ1,x", "AB2,y", "CD3,z"],
    "a missing number": ["zqname,unbekannt", "Bob,34", "Eve,41"],
    "streets and towns": ["zqweg 12,Kanton zqbern", "Bahnhofstrasse 7,Neustadt", "rue de Lyon,Paris"],
    "addresses": ["zqmail@x.org,zq", "b@x.org,y", "c@x.org,z"],
    "amounts": ['"1.234,56",zqname', '"7,50",Bob', '"8,10",Eve'],
    "a missing number and another": ["zqname,unknown,3", "Bob,34,4", "Eve,41,5"],
}
HEADED = {
    "a number": ["name,age", "Bob,34"],
    "numbers": ["Vorname,Alter,PLZ", "Bob,34,8001"],
    "codes": ["zip5,age", "02138,34", "02139,41"],
    "ticked": ["red,blue,age", "red,,30", ",blue,41"],
    "known words": ["city,diagnosis", "Bern,flu", "Basel,cold"],
    "texts that repeat": ["Farbe,Form", *["rot,rund", "blau,oval"] * 30],
}
QUESTIONS = ["1,2,3", *(f"{n % 5 + 1},{n % 3 + 1},{n % 4 + 1}" for n in range(60))]


def written(folder: Path, lines: list[str]) -> Path:
    path = folder / "answers.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("case", HEADLESS)
def test_a_first_line_of_values_raises_an_error_without_showing_it(case: str, tmp_path: Path, run: Run) -> None:
    data, proposed = written(tmp_path, HEADLESS[case]), tmp_path / "proposed.yaml"
    for options in ([], ["--reveal"]):
        result = run("init", data, "-o", proposed, *options)
        assert result.exit_code == 2
        assert "must name the columns. If it does, pass --header" in words(result)
        assert "zq" not in (result.stdout + result.stderr).lower()
    assert not proposed.exists()


@pytest.mark.parametrize("case", HEADED)
def test_a_first_line_that_differs_is_a_header(case: str, tmp_path: Path, run: Run) -> None:
    assert run("init", written(tmp_path, HEADED[case])).exit_code == 0


@pytest.mark.parametrize("lines", [QUESTIONS, ["country,2023,2024", "CH,1,2", "FR,3,4"], ["city", "Bern", "Basel"]])
def test_the_header_option_accepts_the_first_line(lines: list[str], tmp_path: Path, run: Run) -> None:
    data = written(tmp_path, lines)
    assert run("init", data).exit_code == 2
    result = run("init", data, "--header")
    assert result.exit_code == 0
    assert all(name in result.stdout for name in lines[0].split(","))


@pytest.mark.parametrize("mark", ["\t", "|"])
def test_other_separators_are_recognized(mark: str, tmp_path: Path, run: Run) -> None:
    data = written(tmp_path, [mark.join(line.split(",")) for line in ["age,diagnosis", "30,zqflu", "41,zqcold"]])
    result = run("init", data)
    assert result.exit_code == 2
    assert "separated by commas or semicolons, a .tsv by tabs" in words(result)


def test_columns_whose_only_value_is_their_name_are_a_header() -> None:
    ticked = pd.DataFrame({"red": ["red", None] * 30, "blue": [None, "blue"] * 30, "age": [20, 30, 40] * 20})
    assert len(propose(ticked, dataset="survey").columns) == 3
    ill = pd.DataFrame({"flu": ["flu", "cold"] * 30})
    with pytest.raises(ColumnError, match="1 of 1 columns"):
        propose(ill, dataset="visits", reveal=True)
    assert len(propose(ill, dataset="visits", header=True).columns) == 1
