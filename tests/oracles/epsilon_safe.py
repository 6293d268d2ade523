"""epsilon-safe lattice anonymization of tiny tables, from its definition: every sample, every node, every output."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import comb, exp

Row = tuple[object, ...]
Node = tuple[int, ...]
Output = tuple[Node, frozenset[tuple[Row, int]]]  # the node, and the published rows with their counts


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """`levels[column][level]` maps a value; `expected` is the public N; `interpolates` names the averaged nodes."""

    levels: Sequence[Sequence[Callable[[object], object]]]
    k: int
    beta: float
    epsilon: float
    penalty: float
    expected: int
    interpolates: Callable[[Node], bool] = lambda node: False

    def nodes(self) -> list[Node]:
        return list(product(*(range(len(column)) for column in self.levels)))

    def classes(self, rows: Iterable[Row], node: Node) -> Counter[Row]:
        return Counter(
            tuple(column[level](value) for column, level, value in zip(self.levels, node, row, strict=True))
            for row in rows
        )

    def utility(self, rows: Sequence[Row], node: Node) -> float:
        if self.interpolates(node):
            steps = [(*node[:i], node[i] + step, *node[i + 1 :]) for i in range(len(node)) for step in (1, -1)]
            exact = [other for other in steps if other in self.nodes() and not self.interpolates(other)]
            if exact:
                return sum(self.utility(rows, other) for other in exact) / len(exact)
        shares = [level / max(len(column) - 1, 1) for column, level in zip(self.levels, node, strict=True)]
        suppressed = sum(size for size in self.classes(rows, node).values() if size < self.k)
        return -(sum(shares) / len(shares) + self.penalty * suppressed / self.expected)

    def choice(self, rows: Sequence[Row]) -> dict[Node, float]:
        sensitivity = self.penalty * self.k / self.expected
        weights = {node: exp(self.epsilon * self.utility(rows, node) / (2 * sensitivity)) for node in self.nodes()}
        total = sum(weights.values())
        return {node: weight / total for node, weight in weights.items()}

    def published(self, rows: Sequence[Row], node: Node) -> Output:
        return node, frozenset((row, size) for row, size in self.classes(rows, node).items() if size >= self.k)

    def outputs(self, rows: Sequence[Row]) -> dict[Output, float]:
        """The probability of everything that can be published; 2^rows samples."""
        found: dict[Output, float] = defaultdict(float)
        for kept in product((False, True), repeat=len(rows)):
            sample = [row for row, is_kept in zip(rows, kept, strict=True) if is_kept]
            probability = self.beta ** len(sample) * (1 - self.beta) ** (len(rows) - len(sample))
            for node, share in self.choice(sample).items():
                found[self.published(sample, node)] += probability * share
        return found


def delta_between(first: Mapping[Output, float], second: Mapping[Output, float], epsilon: float) -> float:
    """The least delta for which P(first in O) <= e^epsilon P(second in O) + delta for every set O of outputs."""
    return sum(max(0.0, probability - exp(epsilon) * second.get(output, 0.0)) for output, probability in first.items())


def true_delta(mechanism: Mechanism, rows: Sequence[Row], person: Row, epsilon: float) -> float:
    """Both directions of adding one person to the rows."""
    without, with_person = mechanism.outputs(rows), mechanism.outputs([*rows, person])
    return max(delta_between(without, with_person, epsilon), delta_between(with_person, without, epsilon))


def sharp_bound(*, k: int, beta: float, choice: float, epsilon: float, largest: int, interpolated: bool) -> float:
    """What the proof gives before it is simplified, over classes of at most `largest` people.

    Only outputs whose class of n people shows j > s n of them can tell more than epsilon, s = r / (1 + r), r =
    (e^epsilon - 1 + beta) / ((1 - beta) e^exchange); they tell the share 1 - r (n - j) / j of their probability.
    """
    exchange = choice if interpolated else choice / 2
    r = (exp(epsilon) - 1 + beta) / ((1 - beta) * exp(exchange))
    found = 0.0
    for n in range(k, largest + 1):
        seen = {j: comb(n - 1, j - 1) * beta**j * (1 - beta) ** (n - j) for j in range(1, n + 1)}
        bad = [j for j in seen if j >= k and j > r * (n - j)]
        revealed = sum(seen[j] * exp(choice * j / (2 * k)) * (1 - r * (n - j) / j) for j in bad)
        drawn = sum(seen[j] * exp(choice * j / (2 * k)) for j in bad)
        for j in seen.keys() - bad:
            least = min(0, j - k + 1) if interpolated else j if j >= k else 0
            drawn += seen[j] * exp(choice * least / (2 * k))
        found = max(found, beta * revealed / drawn)
    return found
