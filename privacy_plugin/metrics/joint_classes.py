"""Joint classes: the people of all releases of a dataset, by their sequence of classes over these releases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from privacy_plugin.errors import HistoryError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.values import Value

JOINT_CLASS = "joint class"


@dataclass(frozen=True, kw_only=True)
class ClassFacts:
    """What m-invariance asks about one class of one release.

    Its people, whether their sensitive values are pairwise different, and a keyed hash of the set of these values.
    """

    people: int
    different: bool
    signature: str


@dataclass(frozen=True, kw_only=True, eq=False)
class JointClasses:
    """The joint classes of a dataset as they would be after one more release.

    Entry i says that `counts[i]` people of the joint class `classes[i]` have the sensitive values `values[i]` (by
    column; without a column that was never released about them). `paths` has for every joint class the classes that it
    went through, release by release, with their facts by sensitive column. `current` are the joint classes whose people
    are in the release that is judged.
    """

    releases: int
    people: int
    returning: int
    changed: int
    classes: Sequence[int]
    values: Sequence[Mapping[str, Value]] = field(repr=False)
    counts: Sequence[int]
    paths: Mapping[int, Sequence[Mapping[str, ClassFacts]]]
    current: frozenset[int] = frozenset()
    hashed: Mapping[str, int] = field(default_factory=dict)
    """How many values of a column are known by their keyed hash only: they do not occur in the judged table."""

    def table(self, sensitive: str | None = None) -> FrequencyTable:
        """Return the people of all releases as a table, everybody once: their joint class and one sensitive value.

        A joint class about which the column was never released is left out.
        """
        if sensitive is None:
            sizes: dict[int, int] = {}
            for number, count in zip(self.classes, self.counts, strict=True):
                sizes[number] = sizes.get(number, 0) + count
            return FrequencyTable.from_rows([JOINT_CLASS], [(number,) for number in sizes], list(sizes.values()))
        entries = [
            (number, values[sensitive], count)
            for number, values, count in zip(self.classes, self.values, self.counts, strict=True)
            if sensitive in values
        ]
        if not entries:
            raise HistoryError(f"no release has a value of column {sensitive!r}")
        rows = [entry[:2] for entry in entries]
        return FrequencyTable.from_rows([JOINT_CLASS, sensitive], rows, [entry[2] for entry in entries])
