"""Search for classes of least loss: each with its own labels, all meeting the same rules.

1. *Form*: the nodes of the lattice are gone through by rising loss; combinations that form a class which passes leave
   the others. So every class is formed at one of the cheapest nodes where it passes.
2. *Merge*: a class that still fails joins the one with which it costs least for each row that it lacks, until none
   fails.
3. *Move*: single combinations go where they cost less, and classes whose combinations all cost less elsewhere are
   dissolved, until nothing moves.

Deterministic: combinations come in the order of their values, and every tie goes to the first. All rules are kept when
two classes merge (`walk.rules` has the proofs), so that classes which end with the same labels are one class that
passes too.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from privacy_plugin.frequency.grouping import Codes, Integers, group, pack
from privacy_plugin.generalization.class_forming import form_classes
from privacy_plugin.generalization.class_moving import dissolve_classes, find_partners, merge_pairs, move_cells
from privacy_plugin.generalization.label_trees import LabelTree
from privacy_plugin.generalization.local_cells import Combinations, Symbols
from privacy_plugin.generalization.local_classes import (
    CLASSES,
    FORBIDDEN,
    NEXT_TO_NOTHING,
    Blocks,
    Cells,
    Classes,
    Rules,
    Trees,
    fill_classes,
    leave_block,
)
from privacy_plugin.generalization.losses import Floats
from privacy_plugin.generalization.walk.rule_table import rule_lines
from privacy_plugin.metrics.class_rules import ClassRule

_STARTS = (1.0, 0.3, 0.1, 0.02, 0.0)  # shares of the nodes at which classes are formed
_FEW_CELLS = 2500  # combinations; with more, one start takes longer than others are worth
_SLICE = 4_000_000  # steps between two chances to interrupt, a fraction of a second where memory is slow
_MOST_NODES = 20_000  # nodes of the lattice at which classes are formed
_MOST_KEYS = 4096
_MOST_GROUPS = 256
_MOST_PASSES = 2
_MANY_CELLS = 100_000  # with more combinations one pass of moves gains nearly all there is
_WORTH_A_PASS = 0.002  # share of the combinations that has to move in a pass for another one
_DISSOLVED_AT_MOST = 60  # combinations of a class that may be dissolved
_HISTOGRAM_ROOM = 4_000_000
_PART_KEYS = 50_000  # keys of columns that are looked up together: they stay in the cache

Progress = Callable[[float], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class LocalProblem:
    """Combinations, their label trees, and what every class has to meet.

    `weights`: what a column's loss counts. `everyone`: combinations without rows need a class too.
    """

    found: Combinations
    trees: Sequence[LabelTree]
    symbols: Symbols
    k: int
    rules: Sequence[ClassRule]
    weights: Mapping[str, float]
    everyone: bool = False


def search_classes(problem: LocalProblem, progress: Progress) -> "LocalSearch":
    """Search, from several starts where that is quick, and return the search with the least loss.

    The starts differ in how far classes are formed before what is left is merged.
    """
    few = len(problem.found) <= _FEW_CELLS
    best: LocalSearch | None = None
    for share in _STARTS if few else _STARTS[:1]:
        search = LocalSearch(problem, progress if share == 1 else _unheard)
        search.run(share)
        if best is None or search.cost < best.cost - NEXT_TO_NOTHING:
            best = search
    assert best is not None
    return best


def _unheard(_: float) -> None:
    """Hear of progress and say nothing: the first start has reported all of it."""


class LocalSearch:
    """A search and the classes it has found so far."""

    def __init__(self, problem: LocalProblem, progress: Progress) -> None:
        """Prepare the compiled form of a problem; `progress` hears the share that is done."""
        self._problem, self._progress = problem, progress
        found = problem.found
        weights = np.array([problem.weights.get(tree.column, 1.0) for tree in problem.trees])
        self._order = _costly_first(problem, weights)
        self._trees = [problem.trees[place] for place in self._order]
        self._weights = weights[self._order]
        lines, ground = rule_lines(
            problem.rules, column_start=problem.symbols.column_start, histogram=problem.symbols.histogram
        )
        self._rules = Rules(k=problem.k, table=lines, ground=ground)
        self._packed = _pack_trees(self._trees, self._weights)
        self._cells = Cells(
            leaf=np.ascontiguousarray(found.codes[:, self._order]),
            rows=found.rows,
            start=problem.symbols.start,
            symbol=problem.symbols.symbol,
            amount=problem.symbols.amount,
        )
        self._of = np.full(len(found), -1, dtype=np.int64)

    def run(self, share: float = 1.0) -> None:
        """Search, forming classes at a share of the nodes, the cheapest ones."""
        self._form(share)
        self._merge()
        self._move()

    @property
    def cost(self) -> float:
        """What all classes lose together; a row in none of them loses everything."""
        used = self._classes.registers[CLASSES]
        lost = float(self._classes.size[:used] @ self._classes.loss[:used])
        return lost + float(self._cells.rows[self._unplaced].sum()) * float(self._weights.sum())

    def merge_further(self, failing: npt.NDArray[np.bool_]) -> Integers | None:
        """Merge classes that fail what no rule knows with the nearest others; None where none has a label in common."""
        chosen = self._kept[: len(failing)][failing]
        for one in chosen.tolist():
            self._classes.lacking[one] = 1.0
        merged = self._merge_round(chosen, anyone=True, all_at_once=True)
        return self.classes() if merged else None

    def _form(self, share: float) -> None:
        """Form classes at nodes of the lattice, by rising loss."""
        found, width = self._problem.found, self._problem.symbols.width
        levels, keys, key_at, index = self._nodes()
        levels = levels[: round(share * len(levels))]
        bits = 1
        while bits < 2 * len(found):
            bits *= 2
        room = max(1, min(len(found), _HISTOGRAM_ROOM // width)) if len(self._rules.table) else 1
        left = np.arange(len(found), dtype=np.int64)
        registers = np.array([0, len(left), 0, 0], dtype=np.int64)
        slots, groups = np.zeros((bits, 3), dtype=np.int64), np.zeros((len(found), 4), dtype=np.int64)
        histograms = np.zeros((room, width), dtype=np.int64)
        arguments = (levels, keys, key_at, index, self._cells, self._rules, self._of, left, registers)
        while not form_classes(*arguments, slots, groups, histograms, _SLICE):
            self._progress(0.4 * registers[0] / max(len(levels), 1))
        self._formed = int(registers[2])
        self._progress(0.4)

    def _nodes(self) -> tuple[Codes, Integers, Integers, Codes]:
        """List the nodes by rising loss, with keys that tell combinations apart at a node."""
        usable = [_levels(tree) for tree in self._trees]
        rows = self._problem.found.rows
        losses: list[Floats] = []
        for position, (tree, levels) in enumerate(zip(self._trees, usable, strict=True)):
            people = np.bincount(self._cells.leaf[:, position], weights=rows, minlength=tree.nodes.shape[1])
            losses.append(np.array([self._weights[position] * (tree.losses[tree.nodes[n]] @ people) for n in levels]))
        chosen = _thinned(losses, _MOST_NODES)
        nodes = np.array(list(product(*chosen)), dtype=np.int64)
        total = np.zeros(len(nodes))
        for position, column in enumerate(losses):
            total += column[nodes[:, position]]
        nodes = nodes[np.argsort(total, kind="stable")][:_MOST_NODES]
        parts = _Parts(self._cells.leaf, [tree.nodes[levels] for tree, levels in zip(self._trees, usable, strict=True)])
        return parts.of_nodes(nodes), parts.keys, parts.key_at, parts.index

    def _merge(self) -> None:
        """Give every combination a class, and merge classes that fail until none does, or none can."""
        alone = np.flatnonzero(self._of < 0)
        alone = alone if self._problem.everyone else alone[self._problem.found.rows[alone] > 0]
        self._of[alone] = self._formed + np.arange(len(alone))
        blocks = _blocks(self._trees, self._packed)
        self._blocks, self._classes = blocks, self._empty_classes(self._formed + len(alone), blocks)
        fill_classes(self._packed, self._cells, self._rules, self._blocks, self._classes)
        anyone = False
        first = max(self._failing().size, 1)
        while (failing := self._failing()).size:
            merged = self._merge_round(failing, anyone)
            self._progress(0.4 + 0.2 * (1 - min(len(failing) / first, 1.0)))
            if merged == 0 and anyone:
                break  # nothing has a label in common with what is left
            anyone = merged == 0

    def _merge_round(self, failing: Integers, anyone: bool, *, all_at_once: bool = False) -> int:
        scores, partners = np.full(len(failing), np.inf), np.full(len(failing), -1, dtype=np.int64)
        arguments = (self._packed, self._rules, self._blocks, self._classes, failing)
        place = 0
        while place < len(failing):
            place = find_partners(*arguments, place, anyone, scores, partners, _SLICE)
        order = np.argsort(scores, kind="stable").astype(np.int64)
        if anyone and not all_at_once:
            order = order[:1]  # one at a time: what it joins may help the next
        return int(
            merge_pairs(self._packed, self._cells, self._rules, self._blocks, self._classes, failing, partners, order)
        )

    def _failing(self) -> Integers:
        used = self._classes.registers[CLASSES]
        wanted = (self._classes.lacking[:used] > 0) & (self._classes.head[:used] >= 0)
        if not self._problem.everyone:
            wanted &= self._classes.size[:used] > 0
        return np.flatnonzero(wanted)

    def _move(self) -> None:
        """Move combinations and dissolve classes as long as it is worth it."""
        self._release_failing()
        arguments = (self._packed, self._cells, self._rules, self._blocks, self._classes)
        many = len(self._cells.rows) > _MANY_CELLS
        passes = 1 if many else _MOST_PASSES
        for number in range(passes):
            moved = place = 0
            while place < len(self._cells.rows):
                place, more = move_cells(*arguments, place, _SLICE)
                moved += more
            one, dissolved = 0, 0
            while one < self._classes.registers[CLASSES] and not many:
                one, more = dissolve_classes(*arguments, one, _SLICE, _DISSOLVED_AT_MOST)
                dissolved += more
            self._progress(0.6 + 0.4 * (number + 1) / passes)
            if moved + dissolved < _WORTH_A_PASS * len(self._cells.rows):
                break
        self._progress(1.0)

    def _release_failing(self) -> None:
        """Take the classes that fail, and nothing can be done about, out of the search."""
        failing = self._failing()
        self._unplaced = np.isin(self._classes.of, failing) & (self._classes.of >= 0)
        for one in failing.tolist():
            self._classes.loss[one] = 0.0  # neither moved nor dissolved
            leave_block(self._classes, one)

    def classes(self) -> Integers:
        """Number the classes in the order of their first combination."""
        of = np.where(self._unplaced, -1, self._classes.of)
        sizes = np.bincount(of[of >= 0], weights=self._cells.rows[of >= 0], minlength=len(self._classes.size))
        of = np.where((of >= 0) & (sizes[of] > 0), of, -1)  # people without a row of the table are in no class
        kept, first = np.unique(of, return_index=True)
        first, kept = first[kept >= 0], kept[kept >= 0]
        self._kept = kept[np.argsort(first)]
        numbers = np.full(len(self._classes.size), -1, dtype=np.int64)
        numbers[self._kept] = np.arange(len(kept))
        return np.where(of >= 0, numbers[of], -1)

    def _empty_classes(self, used: int, blocks: Blocks) -> Classes:
        cells, columns = self._cells.leaf.shape
        width, keys = self._problem.symbols.width, prod(blocks.groups.tolist())
        room = used + min(cells, 4096)

        def numbers(length: int, value: int = -1) -> Integers:
            return np.full(length, value, dtype=np.int64)

        return Classes(
            label=np.zeros((room, columns), dtype=np.int32),
            size=numbers(room, 0),
            loss=np.zeros(room),
            histogram=np.zeros((room, width if len(self._rules.table) else 1), dtype=np.int64),
            lacking=np.zeros(room),
            head=numbers(room),
            of=self._of,
            after=numbers(cells),
            before=numbers(cells),
            block=numbers(room),
            block_after=numbers(room),
            block_before=numbers(room),
            block_head=numbers(keys),
            block_groups=np.zeros((keys, len(blocks.columns)), dtype=np.int64),
            block_of_key=numbers(keys),
            free=numbers(room),
            registers=np.array([used, 0, 0], dtype=np.int64),
            bounds=np.zeros(keys),
            room=np.zeros((1, width), dtype=np.int64),
        )


def _costly_first(problem: LocalProblem, weights: Floats) -> list[int]:
    """Order columns by the expected loss of two rows' lowest common label: a comparison ends sooner."""
    expected = []
    for position, tree in enumerate(problem.trees):
        values = tree.nodes.shape[1]
        people = np.bincount(problem.found.codes[:, position], weights=problem.found.rows, minlength=values)
        people = people / max(people.sum(), 1.0)
        loss, met = 0.0, 0.0
        for level in range(len(tree.nodes)):
            nodes = tree.nodes[level]
            usable = nodes != tree.nowhere
            shares = np.bincount(nodes[usable], weights=people[usable], minlength=tree.nowhere + 1)
            meets = float((shares**2).sum())
            cost = float((shares**2 * np.append(tree.losses, 0.0)).sum()) / meets if meets else 0.0
            loss, met = loss + max(meets - met, 0.0) * cost, max(meets, met)
        expected.append(weights[position] * (loss + (1 - met)))
    return sorted(range(len(expected)), key=lambda place: (-expected[place], place))


def _pack_trees(trees: Sequence[LabelTree], weights: Floats) -> Trees:
    loss, first, nodes, table, table_at, ancestors, ancestors_at, height = [], [], [], [], [], [], [], []
    at = table_end = ancestors_end = 0
    for tree, weight in zip(trees, weights.tolist(), strict=True):
        first.append(at)
        nodes.append(tree.nowhere + 1)
        loss.append(np.append(tree.losses * weight, FORBIDDEN))
        at += tree.nowhere + 1
        meeting = tree.meeting_table()
        table_at.append(-1 if meeting is None else table_end)
        ancestors_at.append(ancestors_end)
        height.append(len(tree.nodes))
        if meeting is None:
            above = tree.ancestors()
            ancestors.append(above.ravel())
            ancestors_end += above.size
        else:
            table.append(meeting.ravel())
            table_end += meeting.size
    nothing = np.zeros(0, dtype=np.int32)
    return Trees(
        loss=np.concatenate(loss),
        first=np.array(first, dtype=np.int64),
        nodes=np.array(nodes, dtype=np.int64),
        table=np.concatenate([*table, nothing]).astype(np.int32),
        table_at=np.array(table_at, dtype=np.int64),
        ancestors=np.concatenate([*ancestors, nothing]).astype(np.int32),
        ancestors_at=np.array(ancestors_at, dtype=np.int64),
        height=np.array(height, dtype=np.int64),
    )


def _blocks(trees: Sequence[LabelTree], packed: Trees) -> Blocks:
    """Choose columns, those first that cost most, and divide their labels at the highest level that still divides."""
    columns, bound, bound_at, groups, group, group_at = [], [], [], [], [], []
    end = group_end = 0
    keys = 1
    for position, tree in enumerate(trees):
        meeting = tree.meeting_table()
        if meeting is None:
            continue
        dividing = [n for n in range(len(tree.nodes)) if len({*tree.nodes[n].tolist()} - {tree.nowhere}) > 1]
        above = tree.ancestors()[:, max(dividing, default=0)]
        found, numbers = np.unique(above, return_inverse=True)
        if len(found) > _MOST_GROUPS or keys * len(found) > _MOST_KEYS:
            continue
        keys *= len(found)
        loss = packed.loss[packed.first[position] : packed.first[position] + packed.nodes[position]]
        met = meeting[:, found]
        bounds = np.where(met == found[None, :], loss[:, None], loss[met])
        columns.append(position)
        bound.append(bounds.ravel())
        bound_at.append(end)
        end += bounds.size
        groups.append(len(found))
        group.append(numbers.ravel())
        group_at.append(group_end)
        group_end += len(numbers.ravel())
    nothing = np.zeros(0)
    return Blocks(
        columns=np.array(columns, dtype=np.int64),
        bound=np.concatenate([*bound, nothing]),
        bound_at=np.array(bound_at, dtype=np.int64),
        groups=np.array(groups, dtype=np.int64),
        group=np.concatenate([*group, nothing]).astype(np.int64),
        group_at=np.array(group_at, dtype=np.int64),
    )


def _levels(tree: LabelTree) -> list[int]:
    """Return the levels of a column that differ and may be used."""
    found: list[int] = []
    for level, nodes in enumerate(tree.nodes):
        if (nodes == tree.nowhere).any():
            break
        if not found or (nodes != tree.nodes[found[-1]]).any():
            found.append(level)
    return found


def _thinned(losses: Sequence[Floats], most: int) -> list[list[int]]:
    """Leave out the levels that differ least from the next, until the lattice is small enough to go through."""
    chosen = [list(range(len(column))) for column in losses]
    while prod(map(len, chosen)) > most and max(map(len, chosen)) > 2:
        gaps = [
            (losses[c][places[n + 1]] - losses[c][places[n]], c, n)
            for c, places in enumerate(chosen)
            for n in range(1, len(places) - 1)
        ]
        if not gaps:
            break
        _, column, place = min(gaps)
        del chosen[column][place]
    free = [c for c, places in enumerate(chosen) if len(places) > 1]
    while prod(map(len, chosen)) > 16 * most:  # dozens of columns: the cheapest stay as they are
        cheapest = min(free, key=lambda c: (losses[c][chosen[c][-1]], c))
        chosen[cheapest] = chosen[cheapest][-1:]
        free.remove(cheapest)
    return chosen


class _Parts:
    """Columns put together in parts, so that a key is the sum of few numbers: `index` numbers a part's values."""

    def __init__(self, leaves: Codes, nodes: Sequence[Codes]) -> None:
        self._parts, index, keys = self._divide(leaves, nodes), [], []
        starts: list[list[int]] = []
        self._shapes = [[len(nodes[column]) for column in part] for part in self._parts]
        end = 0
        for part, shape in zip(self._parts, self._shapes, strict=True):
            packed, size = pack([leaves[:, column] for column in part], [nodes[column].shape[1] for column in part])
            numbers, first = group(packed, size)
            index.append(numbers.astype(np.int32))
            starts.append([])
            for levels in product(*map(range, shape)):
                key = np.zeros(len(first), dtype=np.int64)
                for column, level in zip(part, levels, strict=True):
                    key += _scattered(nodes[column][level], column)[leaves[first, column]]
                keys.append(key)
                starts[-1].append(end)
                end += len(first)
        self.index = np.column_stack(index)
        self.keys = np.concatenate(keys)
        self.key_at = np.zeros((len(starts), max(map(len, starts))), dtype=np.int64)
        for position, line in enumerate(starts):
            self.key_at[position, : len(line)] = line

    @staticmethod
    def _divide(leaves: Codes, nodes: Sequence[Codes]) -> list[list[int]]:
        parts: list[list[int]] = [[0]]
        for column in range(1, len(nodes)):
            together = [*parts[-1], column]
            packed, size = pack([leaves[:, c] for c in together], [nodes[c].shape[1] for c in together])
            distinct = len(group(packed, size)[1])
            if distinct * prod(len(nodes[c]) for c in together) <= _PART_KEYS:
                parts[-1] = together
            else:
                parts.append([column])
        return parts

    def of_nodes(self, nodes: Integers) -> Codes:
        """Return the number of every node's levels in every part."""
        found = [np.ravel_multi_index(tuple(nodes[:, p].T), s) for p, s in zip(self._parts, self._shapes, strict=True)]
        return np.column_stack(found).astype(np.int32)


def _scattered(nodes: Codes, column: int) -> Integers:
    """Return numbers that tell nodes apart, whatever is added to them for other columns."""
    mixed = (nodes.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed += np.uint64((column + 1) * 0xD1B54A32D192ED03 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed ^ (mixed >> np.uint64(31))).view(np.int64)
