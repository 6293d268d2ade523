"""Relations that the tests of the privacy score's algorithms share."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from privacy_plugin.metrics.privacy_score.relation import Relation, make_relation
from privacy_plugin.metrics.privacy_score.result import ERROR
from tests.oracles import score as oracle

WEIGHTS = [Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(3, 4), Fraction(1)]
steady = settings(deadline=None, derandomize=True, max_examples=150)


@dataclass(frozen=True, kw_only=True)
class Case:
    people: list[frozenset[int]]
    counts: list[int]
    likelihood: list[Fraction]
    danger: list[Fraction]
    saturation: Fraction
    confidence: Fraction
    relation: Relation

    def oracle_scores(self) -> list[Fraction]:
        return oracle.scores(
            self.people,
            likelihood=self.likelihood,
            danger=self.danger,
            counts=self.counts,
            saturation=self.saturation,
            confidence=self.confidence,
        )

    @property
    def parameters(self) -> dict[str, float]:
        return {"saturation": float(self.saturation), "confidence": float(self.confidence)}


def relation_of(people, likelihood, danger, counts=None):
    matrix = [[attribute in person for attribute in range(len(likelihood))] for person in people]
    return make_relation(
        matrix=np.asarray(matrix, dtype=bool).reshape(len(people), len(likelihood)),
        likelihood=[float(weight) for weight in likelihood],
        danger=[float(weight) for weight in danger],
        counts=counts,
    )


@st.composite
def cases(draw, confidences=(Fraction(1),)):
    """Code columns and boolean columns side by side, with duplicates, contained and empty rows, and zero weights."""
    rows = draw(st.integers(1, 8))
    sizes = draw(st.lists(st.integers(1, 3), max_size=3))
    booleans = draw(st.integers(0 if sizes else 1, 4 if len(sizes) < 3 else 2))
    codes = [[draw(st.integers(-1, size - 1)) for size in sizes] for _ in range(rows)]
    matrix = [[draw(st.booleans()) for _ in range(booleans)] for _ in range(rows)]
    if draw(st.booleans()) and booleans > 1:  # attributes held by the same people
        matrix = [[*line[:-1], line[0]] for line in matrix]
    attributes = sum(sizes) + booleans
    flat = draw(st.booleans())
    weights = st.just(Fraction(1)) if flat else st.sampled_from(WEIGHTS)
    likelihood = draw(st.lists(weights, min_size=attributes, max_size=attributes))
    danger = draw(st.lists(weights, min_size=attributes, max_size=attributes))
    counts = draw(st.lists(st.integers(1, 4), min_size=rows, max_size=rows))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    people = [
        frozenset(int(starts[c]) + code for c, code in enumerate(line) if code >= 0)
        | {int(starts[-1]) + b for b, held in enumerate(matrix[row]) if held}
        for row, line in enumerate(codes)
    ]
    relation = make_relation(
        codes=np.asarray(codes, dtype=np.int64).reshape(rows, len(sizes)),
        cardinalities=sizes,
        matrix=np.asarray(matrix, dtype=bool).reshape(rows, booleans),
        likelihood=[float(weight) for weight in likelihood],
        danger=[float(weight) for weight in danger],
        counts=counts,
    )
    return Case(
        people=people,
        counts=counts,
        likelihood=likelihood,
        danger=danger,
        saturation=draw(st.sampled_from([Fraction(1), Fraction(1, 1000), Fraction(5, 2)])),
        confidence=draw(st.sampled_from(confidences)),
        relation=relation,
    )


PARTIAL = (Fraction(19, 20), Fraction(3, 4), Fraction(2, 3), Fraction(1, 2), Fraction(3, 10), Fraction(1, 100))


def close(found, exact):
    return np.allclose(found, [float(value) for value in exact], rtol=0, atol=ERROR)


def people_of(*words):
    """One person a word, one attribute a letter from a to g."""
    return [frozenset("abcdefg".index(letter) for letter in word) for word in words]


def one_hot(rows=400):
    generator = np.random.default_rng(3)
    codes = np.column_stack([generator.integers(0, size, rows) for size in (2, 3, 5, 8, 30)])
    return make_relation(
        codes=codes, cardinalities=[2, 3, 5, 8, 30], likelihood=generator.random(48), danger=generator.random(48)
    )
