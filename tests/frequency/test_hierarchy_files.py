import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import HierarchyError, ParameterError
from privacy_plugin.frequency.hierarchy_files import read_hierarchy, write_hierarchy


def written(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "values.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_the_common_form(tmp_path):
    hierarchy = read_hierarchy(written(tmp_path, "39;30-39;*\n40;40-49;*\n;unknown;*\n"))
    assert hierarchy.height == 2
    assert hierarchy.generalize(39, 1) == "30-39"
    assert hierarchy.generalize(None, 1) == "unknown"
    assert hierarchy.generalize("", 1) == "unknown"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("﻿39;low;*\n", "utf-8"),
        ("39;low;*", "utf-8"),
        ("39;low;*\r\n\r\n", "utf-8"),
        ('"39";"low";"*"\n', "utf-8"),
    ],
)
def test_marks_line_ends_and_quotes_do_not_matter(tmp_path, text, encoding):
    assert read_hierarchy(written(tmp_path, text, encoding)).specification == {"table": [["39", "low", "*"]]}


def test_quotes_semicolons_line_breaks_and_unicode_survive(tmp_path):
    values = [
        "\ufeffmarked",
        'say "hi"',
        "a;b",
        "two\nlines",
        "two\rlines",
        "two\r\nlines",
        "Zürich",
        "東京",
        " padded ",
        "-",
    ]
    hierarchy = pp.tree_hierarchy({'großes; "Gebiet"': values[:4], "他": values[4:]})
    write_hierarchy(hierarchy, tmp_path / "values.csv", values=values)
    again = read_hierarchy(tmp_path / "values.csv")
    assert again.values == tuple(values)
    assert again.specification == hierarchy.specification


def test_a_rule_written_for_its_values_is_read_as_the_same_levels(tmp_path):
    ages = pp.interval_hierarchy(start=0, stop=100, widths=[10, 50])
    values = [None, -1, 0, 39, 100]
    write_hierarchy(ages, tmp_path / "ages.csv", values=values)
    again = pp.read_hierarchy(tmp_path / "ages.csv")
    for value in values:
        assert [again.generalize(value, n) for n in range(4)] == [ages.generalize(value, n) for n in range(4)]


@settings(deadline=None, derandomize=True)
@given(
    st.lists(
        st.text(min_size=1, max_size=5).filter(lambda t: "\x00" not in t and t.upper() not in ("TRUE", "FALSE", "*")),
        min_size=1,
        max_size=8,
        unique=True,
    ),
    st.sampled_from(";,\t|"),
)
def test_whatever_is_written_is_read_back(tmp_path_factory, values, separator):
    path = tmp_path_factory.mktemp("hierarchies") / "values.csv"
    hierarchy = pp.tree_hierarchy({"group": values})
    pp.write_hierarchy(hierarchy, path, values=values, separator=separator)
    assert pp.read_hierarchy(path, separator=separator).specification == hierarchy.specification


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("\n\n", "empty"),
        ("a;b;*\nc;*\n", "between 2 and 3"),
        ("a;b;*\na;c;*\n", "line 2"),
        ("a;g;1\nb;g;2\n", "separates"),
        ("a,b,*\nc,d,*\n", "separator"),
    ],
)
def test_a_malformed_file_is_refused_with_its_place(tmp_path, text, words):
    with pytest.raises(HierarchyError, match=words):
        read_hierarchy(written(tmp_path, text))


def test_an_unreadable_file_is_refused(tmp_path):
    with pytest.raises(HierarchyError, match="cannot read"):
        read_hierarchy(tmp_path / "missing.csv")
    with pytest.raises(HierarchyError, match="cannot read"):
        read_hierarchy(tmp_path)
    with pytest.raises(HierarchyError, match="not UTF-8; convert it"):
        read_hierarchy(written(tmp_path, "Zürich;*\n", "latin-1"))
    with pytest.raises(ParameterError):
        read_hierarchy(tmp_path / "missing.csv", separator=";;")


@pytest.mark.parametrize("separator", [";;", "", '"', "\n", "\r", None])
def test_invalid_separators_are_refused(tmp_path, separator):
    with pytest.raises(ParameterError, match="separator must be a single character"):
        read_hierarchy(tmp_path / "missing.csv", separator=separator)
    with pytest.raises(ParameterError, match="separator must be a single character"):
        write_hierarchy(pp.mask_hierarchy(length=2), tmp_path / "codes.csv", values=["12"], separator=separator)
    assert not (tmp_path / "codes.csv").exists()


def test_values_a_rule_does_not_cover_are_not_written(tmp_path):
    with pytest.raises(HierarchyError, match="1 value"):
        write_hierarchy(pp.mask_hierarchy(length=2), tmp_path / "codes.csv", values=["123"])
    assert not (tmp_path / "codes.csv").exists()
