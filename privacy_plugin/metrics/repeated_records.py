"""Repeated records: how many rows of a generated table are rows of the original it was made from."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privacy_plugin.errors import ParameterError, unknown_name
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.metrics.generated_pair import pair_tables
from privacy_plugin.metrics.measurement import ComparedValue, Comparison, Measurement
from privacy_plugin.metrics.registry import metric

VARIANTS = ("repeated", "repeating_unique", "unique_repeated")
_COMPARED = {
    "repeated": ("generated rows that occur in the original", "if_independent"),
    "repeating_unique": ("generated rows equal to a record that occurs once", "unique_if_independent"),
    "unique_repeated": ("once-only records of the original that are generated", None),
}


def require_variant(variant: Any = "repeated") -> None:
    """Raise if the variant is not one of `VARIANTS`."""
    if variant not in VARIANTS:
        raise ParameterError(unknown_name("variant of repeated_records", str(variant), VARIANTS))


@dataclass(frozen=True, kw_only=True)
class RepeatedRecords(Measurement):
    """The shares, with what independent columns would repeat for comparison."""

    @property
    def repeated(self) -> Fraction:
        """Share of generated rows that occur in the original."""
        return Fraction(self.details["repeated"])

    @property
    def repeating_unique(self) -> Fraction:
        """Share of generated rows that equal a row which occurs once in the original."""
        return Fraction(self.details["repeating_unique"])

    @property
    def unique_repeated(self) -> Fraction:
        """Share of the original's once-only rows that are generated."""
        return Fraction(self.details["unique_repeated"])

    @property
    def if_independent(self) -> float:
        """What `repeated` would be on average for rows of independent columns."""
        return float(self.details["if_independent"])

    @property
    def comparison(self) -> Comparison:
        """Every share, next to what independent columns would repeat."""
        values = []
        for variant, (name, by_chance) in _COMPARED.items():
            judged = variant == self.parameters["variant"]
            share = self.details[variant]
            values.append(ComparedValue(name=name, value=share, role="judged" if judged else "reference"))
            if by_chance:
                name = "the same, if the columns were independent"
                values.append(ComparedValue(name=name, value=self.details[by_chance]))
        return Comparison(caption="Repeated records and chance", values=tuple(values), full=1.0)


@metric(
    title="repeated records",
    safer="lower",
    kind="audit",
    attacker="who takes a generated record of {attributes} for a real one is right more often than {limit}",
    remedy="generate the table with a smaller budget, and look at what independent columns repeat: below that share "
    "nothing can be gained",
    paper="Dorrestijn 2018, table 5",
    axis="share of rows",
    shows="No more than so many generated records, compared by content, are records of the original.",
    hides="Privacy. Columns shuffled independently repeat many records too, and a table may give people away without "
    "repeating one: with records that differ in a digit, or with what it shows about groups. Only the budget that "
    "a table was generated with limits that.",
    smallest=0,
    largest=1,
    check=require_variant,
)
def repeated_records(
    table: FrequencyTable, *, attributes: Sequence[str], original: FrequencyTable, variant: str = "repeated"
) -> RepeatedRecords:
    """Return the share of generated rows that occur in the original, or one of the other two shares.

    "repeated" = generated rows equal to a row of the original / generated rows; "repeating_unique" = those equal to
    a row that occurs once in the original / generated rows; "unique_repeated" = once-only rows of the original that are
    generated / once-only rows of the original (0 where there is none). Dorrestijn 2018, section 4, table 5.

    Erratum: the thesis compares row by row and calls a small share an indication of privacy. A share shows neither: a
    shuffled copy must score 1, so rows are compared by content; and independent columns, which reveal nothing about
    how values go together, repeat a share of sum over the original's distinct rows of the product of their values'
    shares (17% of Adult), stated as `if_independent`. Only equal records count: one that differs in one digit
    does not, so put numbers into bins first. Missing values are a category of their own. Exact fractions; the
    independent shares are floats. Cost: one sort of the distinct rows of both.

    >>> real = FrequencyTable.from_rows(["x"], [("a",), ("a",), ("b",)])
    >>> made = FrequencyTable.from_rows(["x"], [("a",), ("b",), ("c",), ("c",)])
    >>> found = repeated_records(made, attributes=["x"], original=real)
    >>> str(found.value), str(found.repeating_unique), str(found.unique_repeated)
    ('1/2', '1/4', '1')
    """
    pair = pair_tables(table, original, attributes=attributes)
    known, made, _ = pair.packed(range(len(attributes)))
    once = pair.original.counts == 1
    common = np.isin(made, known)
    of_unique = np.isin(made, known[once])
    unique_found = int(np.isin(known[once], made).sum())
    likely = np.prod([share[pair.original.codes[:, p]] for p, share in enumerate(pair.shares)], axis=0)
    shares = {
        "repeated": Fraction(int(pair.generated.counts[common].sum()), table.rows),
        "repeating_unique": Fraction(int(pair.generated.counts[of_unique].sum()), table.rows),
        "unique_repeated": Fraction(unique_found, max(int(once.sum()), 1)),
    }
    independent = {"if_independent": float(likely.sum()), "unique_if_independent": float(likely[once].sum())}
    return RepeatedRecords(
        metric="repeated_records",
        value=shares[variant],
        parameters={"attributes": list(attributes), "variant": variant},
        rows=table.rows,
        classes=len(made),
        details={
            **shares,
            **independent,
            "original_rows": original.rows,
            "unique_records_of_the_original": int(once.sum()),
            "of_them_repeated": unique_found,
        },
        notes=(
            f"rows drawn from independent columns would repeat {independent['if_independent']:.1%} of the original's, "
            f"{independent['unique_if_independent']:.1%} being records of one person",
            "a small share does not prove privacy; only the budget that the table was generated with protects",
        ),
    )
