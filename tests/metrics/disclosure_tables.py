"""Small tables for disclosure: as lists of values, and as the kernels take them."""

from typing import Any

from hypothesis import strategies as st

from privacy_plugin.metrics.maximum_disclosure.exact_disclosure import Atom
from tests.oracles import disclosure as oracle

FIGURE_3 = [["flu", "flu", "lung", "lung", "heart"], ["flu", "flu", "breast", "ovarian", "heart"]]

tiny_buckets = st.lists(st.sampled_from("abcd"), min_size=1, max_size=4)
small_histograms = st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=4), min_size=1, max_size=4)


def tables_with_few_worlds(most: int) -> st.SearchStrategy[list[list[str]]]:
    return st.lists(tiny_buckets, min_size=1, max_size=3).filter(lambda table: len(oracle.worlds_of(table)) <= most)


def csr(histograms: list[list[int]]) -> dict[str, Any]:
    offsets = [0]
    for counts in histograms:
        offsets.append(offsets[-1] + len(counts))
    return {"offsets": offsets, "value_counts": [count for counts in histograms for count in counts]}


def values_of(bucket: list[str]) -> list[str]:
    return sorted(set(bucket))


def counted(table: list[list[str]]) -> dict[str, Any]:
    return csr([[bucket.count(value) for value in values_of(bucket)] for bucket in table])


def as_key(table: list[list[str]], atom: Atom) -> tuple[int, int, str]:
    return atom.bucket, atom.person, values_of(table[atom.bucket])[atom.value]
