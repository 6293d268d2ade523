"""Failures with files that cannot be read, parsed, covered or written."""

import json
from pathlib import Path

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import privacy_plugin as pp
from privacy_plugin.sources import open_source
from tests.certificates import KEYS
from tests.leaks.markers import AGE, COLUMNS, DISEASE, MARKED, NAME, ZIP, frame, people
from tests.leaks.scenes import POLICY, Scene, failure, policy, with_hierarchy

ENTRY_POINTS = ("python", "command line")
NO_IDENTIFIER = policy(columns={**POLICY["columns"], "name": "insensitive"})  # so that the rows are looked at


def written(folder: Path, data: pd.DataFrame | None = None, name: str = "visits.csv") -> Path:
    path = folder / name
    (frame() if data is None else data).to_csv(path, index=False)
    return path


def with_line(folder: Path, line: str | bytes) -> Path:
    """Write the people, and one more line."""
    path = written(folder)
    with path.open("ab") as file:
        file.write((line.encode() if isinstance(line, str) else line) + b"\n")
    return path


@failure(*ENTRY_POINTS, message="k-anonymity is 1")
def values_outside_an_interval_hierarchy(folder: Path) -> Scene:
    return Scene(data=written(folder))


@failure(*ENTRY_POINTS, message="InvalidInputException")
def json_lines_that_are_not_json(folder: Path) -> Scene:
    path = folder / "visits.jsonl"
    path.write_text("".join(json.dumps(dict(zip(COLUMNS, row, strict=True))) + "\n" for row in people()) + NAME + "\n")
    return Scene(data=path)


@failure(*ENTRY_POINTS, message="mixes text, numbers or booleans")
def json_lines_with_a_field_of_two_types(folder: Path) -> Scene:
    path = folder / "visits.jsonl"
    rows = [*people(), (NAME, DISEASE, ZIP, AGE)]
    path.write_text("".join(json.dumps(dict(zip(COLUMNS, row, strict=True))) + "\n" for row in rows))
    return Scene(data=path)


@failure(*ENTRY_POINTS, message="format all its cells alike")
def a_workbook_with_a_column_of_two_types(folder: Path) -> Scene:
    path = folder / "visits.xlsx"
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("visits")
    for row in (COLUMNS, *people(), (NAME, DISEASE, ZIP, AGE)):
        sheet.append(list(row))
    book.save(path)
    return Scene(data=path)


@failure(*ENTRY_POINTS, message="BadZipFile")
def a_workbook_that_is_none(folder: Path) -> Scene:
    path = folder / "visits.xlsx"
    path.write_text(NAME, encoding="utf-8")
    return Scene(data=path)


@failure(*ENTRY_POINTS, message="of another kind")
def a_folder_with_another_file(folder: Path) -> Scene:
    (folder / "visits").mkdir()
    frame().to_parquet(folder / "visits" / "part.parquet")
    written(folder / "visits", name=f"{AGE}.csv")
    return Scene(data=folder / "visits")


@failure(*ENTRY_POINTS, message="have different columns or types")
def a_folder_of_files_with_other_types(folder: Path) -> Scene:
    (folder / "visits").mkdir()
    frame().to_parquet(folder / "visits" / "one.parquet")
    frame().astype(str).to_parquet(folder / "visits" / "two.parquet")
    return Scene(data=folder / "visits")


@failure(*ENTRY_POINTS, message="is it a Delta table")
def a_delta_table_with_a_broken_log(folder: Path) -> Scene:
    log = folder / "visits" / "_delta_log"
    log.mkdir(parents=True)
    (log / "00000000000000000000.json").write_text(json.dumps({"add": MARKED}), encoding="utf-8")
    return Scene(data=folder / "visits")


@failure(*ENTRY_POINTS, message="does not cover 1 value")
def values_that_are_no_numbers(folder: Path) -> Scene:
    return Scene(data=written(folder, frame().astype({"age": str}).replace({"age": {str(AGE): NAME}})))


@failure(*ENTRY_POINTS, message="does not cover 31 value")
def values_that_are_no_dates(folder: Path) -> Scene:
    rules = with_hierarchy("age", {"dates": {"levels": ["month", "year"]}})
    return Scene(data=written(folder), policy=rules)


@failure(*ENTRY_POINTS, message="does not cover 8 value")
def values_longer_than_a_mask(folder: Path) -> Scene:
    return Scene(data=written(folder), policy=with_hierarchy("zip", {"mask": {"length": 5}}))


@failure(*ENTRY_POINTS, message="does not cover 1 value")
def values_outside_a_tree(folder: Path) -> Scene:
    known = [zip_code for _, _, zip_code, _ in people()[:7]]
    return Scene(data=written(folder), policy=with_hierarchy("zip", {"tree": {"*": known}}))


@failure(*ENTRY_POINTS, message="does not cover 1 value")
def values_outside_a_hierarchy_file(folder: Path) -> Scene:
    (folder / "zip.csv").write_text("".join(f"{zip_code};8;*\n" for _, _, zip_code, _ in people()[:7]))
    return Scene(data=written(folder), policy=with_hierarchy("zip", {"file": "zip.csv"}))


@failure(*ENTRY_POINTS, "dagster", message="InvalidInputException")
def a_line_with_too_many_fields(folder: Path) -> Scene:
    return Scene(data=with_line(folder, f"{NAME},{AGE},{ZIP},{NAME},{NAME}"), policy=NO_IDENTIFIER)


@failure(*ENTRY_POINTS, message="InvalidInputException")
def a_line_with_too_few_fields(folder: Path) -> Scene:
    return Scene(data=with_line(folder, f"{NAME},{AGE}"))


@failure(*ENTRY_POINTS, message="InvalidInputException")
def a_quote_that_never_ends(folder: Path) -> Scene:
    return Scene(data=with_line(folder, f'"{NAME},{AGE},{ZIP}'))


@failure(*ENTRY_POINTS, "dagster", message="UTF-8")
def text_that_is_no_utf_8(folder: Path) -> Scene:
    return Scene(data=with_line(folder, f"x,{AGE},{ZIP}\xff,{DISEASE}".encode("latin-1")), policy=NO_IDENTIFIER)


@failure(*ENTRY_POINTS, message="ArrowInvalid")
def a_parquet_file_cut_short(folder: Path) -> Scene:
    path = folder / "visits.parquet"
    frame().to_parquet(path, compression=None)
    path.write_bytes(path.read_bytes()[:-30])
    return Scene(data=path)


@failure(*ENTRY_POINTS, "dagster", message="failed in DuckDB")
def a_parquet_file_with_broken_pages(folder: Path) -> Scene:
    """Its description can be read, its values cannot."""
    path = folder / "visits.parquet"
    table = pa.table({name: [row[i] for row in people(400)] for i, name in enumerate(COLUMNS)})
    pq.write_table(table, path, compression=None, use_dictionary=False)
    content = bytearray(path.read_bytes())
    first = content.index(b"person 0")
    content[first - 4 : first] = b"\xff\xff\xff\x7f"
    path.write_bytes(bytes(content))
    return Scene(data=path, policy=NO_IDENTIFIER)


@failure(*ENTRY_POINTS, message="ArrowInvalid")
def a_text_file_called_parquet(folder: Path) -> Scene:
    return Scene(data=written(folder, name="visits.parquet"))


@failure(*ENTRY_POINTS, "dagster", message="does its first line name the columns?")
def a_first_line_that_is_a_person(folder: Path) -> Scene:
    path = folder / "visits.csv"
    pd.DataFrame([MARKED, *people()]).to_csv(path, index=False, header=False)
    return Scene(data=path)


@failure(*ENTRY_POINTS, message="has the same name in fields 2, 3")
def a_first_line_that_is_a_person_with_equal_values(folder: Path) -> Scene:
    path = folder / "visits.csv"
    pd.DataFrame([(NAME, ZIP, ZIP.lower(), DISEASE)]).to_csv(path, index=False, header=False)
    return Scene(data=path)


@failure(*ENTRY_POINTS, message="is missing in 2 rows")
def a_unit_that_is_missing_in_some_rows(folder: Path) -> Scene:
    people = frame()
    people.loc[people.index[-2:], "name"] = None
    rules = policy({"k_anonymity": {"at_least": 3}}, columns={**POLICY["columns"], "name": "unit"})
    return Scene(data=written(folder, people), policy=rules)


@failure(*ENTRY_POINTS, message="t-closeness")
def an_order_of_texts_that_are_no_numbers(folder: Path) -> Scene:
    return Scene(data=written(folder), policy=policy({"t_closeness": {"ground": "ordered", "at_most": 0.2}}))


@failure(*ENTRY_POINTS, message="does not cover 1 value")
def a_ground_that_lacks_values(folder: Path) -> Scene:
    ground = {"tree": {"*": ["a", "b", "c", "d"]}}
    return Scene(data=written(folder), policy=policy({"t_closeness": {"ground": ground, "at_most": 0.2}}))


@failure(*ENTRY_POINTS, message="more rows than people in the population")
def a_population_that_lacks_people(folder: Path) -> Scene:
    population = written(folder, frame().iloc[:-1], "population.csv")
    return Scene(data=written(folder), policy=policy({"delta_presence": {"between": [0, 0.5]}}), population=population)


@failure(*ENTRY_POINTS, message="InvalidInputException")
def a_population_that_cannot_be_read(folder: Path) -> Scene:
    population = folder / "population.csv"
    population.write_text("age,zip\n" + f"{AGE},{ZIP},{NAME}\n" * 3)
    return Scene(data=written(folder), policy=policy({"k_map": {"at_least": 2}}), population=population)


@failure(*ENTRY_POINTS, message="more rows in the table than people in the marginals")
def marginals_that_lack_values(folder: Path) -> Scene:
    asked = {
        "marginals": {"age": {str(age): 10 for age in range(20, 50)}, "zip": {f"8{i:07d}": 50 for i in range(7)}},
        "population_size": 400,
        "delta": [0, 0.5],
        "at_least": 0.9,
    }
    return Scene(data=written(folder), policy=policy({"presence_confidence": asked}))


@failure(*ENTRY_POINTS, message="is not column;value;count")
def marginals_that_are_no_counts(folder: Path) -> Scene:
    (folder / "census.csv").write_text(f"age;{AGE};{NAME}\nzip;{ZIP};3\n")
    asked = {"marginals": {"file": "census.csv"}, "population_size": 300, "delta": [0, 0.5], "at_least": 0.9}
    return Scene(data=written(folder), policy=policy({"presence_confidence": asked}))


@failure(*ENTRY_POINTS, message="is not column;value;column;value;count")
def joint_counts_that_are_none(folder: Path) -> Scene:
    (folder / "joint.csv").write_text(f"age;{AGE};zip;{ZIP};{NAME}\n")
    asked = {
        "marginals": {},
        "joint": {"file": "joint.csv"},
        "population_size": 300,
        "delta": [0, 0.5],
        "at_least": 0.9,
    }
    return Scene(data=written(folder), policy=policy({"presence_confidence": asked}))


@failure(*ENTRY_POINTS, message="more rows in the table than people in the marginals")
def joint_counts_that_lack_combinations(folder: Path) -> Scene:
    (folder / "joint.csv").write_text(f"age;{AGE};zip;{ZIP};300\n")
    asked = {
        "marginals": {},
        "joint": {"file": "joint.csv"},
        "population_size": 300,
        "delta": [0, 0.5],
        "at_least": 0.9,
    }
    return Scene(data=written(folder), policy=policy({"presence_confidence": asked}))


@failure(*ENTRY_POINTS, message="between 2 and 3 fields")
def a_hierarchy_file_of_uneven_lines(folder: Path) -> Scene:
    (folder / "zip.csv").write_text(f"{ZIP};{NAME};*\n{DISEASE};*\n")
    return Scene(data=written(folder), policy=with_hierarchy("zip", {"file": "zip.csv"}))


@failure(*ENTRY_POINTS, message="every level must coarsen")
def a_hierarchy_file_with_two_parents_of_one_value(folder: Path) -> Scene:
    (folder / "zip.csv").write_text(f"1;{ZIP};{NAME};*\n2;{ZIP};{DISEASE};*\n")
    return Scene(data=written(folder), policy=with_hierarchy("zip", {"file": "zip.csv"}))


@failure(*ENTRY_POINTS, message="lists a value a second time")
def a_hierarchy_file_that_lists_a_value_twice(folder: Path) -> Scene:
    (folder / "zip.csv").write_text(f"{ZIP};{NAME};*\n{ZIP};{DISEASE};*\n")
    return Scene(data=written(folder), policy=with_hierarchy("zip", {"file": "zip.csv"}))


@failure(*ENTRY_POINTS, message="cannot write the certificate")
def a_place_that_cannot_be_written(folder: Path) -> Scene:
    """Where a run would write a file there is a folder, and a file where it would keep certificates."""
    for name in ("released/release.csv", "written/report.html", "written/change.html"):
        (folder.parent / name).mkdir()
    (folder.parent / "written/certificates").write_text("no folder")
    return Scene(data=written(folder))


@failure("python", message="cannot read the plan")
def plans_that_do_not_fit(folder: Path) -> Scene:
    """A plan is made of some people, and meets others; then its file is broken."""
    path, plan_file = written(folder), folder / "plan.json"
    rules = pp.Policy.from_dict(POLICY)

    def saved() -> pp.Plan:
        plan = pp.generalize(
            frame().iloc[:-1],
            hierarchies=rules.hierarchies,
            requirements=rules.requirements,
            attributes=(),
            sensitive="disease",
            max_suppression=0.5,
        )
        plan.save(plan_file)
        return plan

    def broken() -> pp.Plan:
        content = json.loads(plan_file.read_text())
        plan_file.write_text(json.dumps({**content, "levels": {ZIP: NAME}, "hierarchies": {ZIP: {DISEASE: AGE}}}))
        return pp.load_plan(plan_file)

    def no_json() -> pp.Plan:
        plan_file.write_text(f"{{{NAME}: {ZIP}")
        return pp.load_plan(plan_file)

    return Scene(
        data=path, calls=(lambda: saved().apply(frame()), lambda: pp.load_plan(plan_file).apply(path), broken, no_json)
    )


@failure("python", message="cannot read the certificate")
def a_certificate_that_cannot_be_read(folder: Path) -> Scene:
    """The place of the next certificate holds something else."""
    store = pp.CertificateStore(folder.parent / "given" / "certificates", keys=KEYS)
    place = store.path("visits", None)
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"rows": NAME, ZIP: DISEASE}))
    rules = pp.Policy.from_dict(POLICY)
    return Scene(data=written(folder), calls=(lambda: store.require(rules, open_source(frame())),))
