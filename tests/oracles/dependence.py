"""epsilon-dependence by its definition alone: every pair of an input and an output, every likelihood by enumeration."""

import math
from collections import Counter
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import product
from typing import Any

getcontext().prec = 60

INFINITE = math.inf


def ratio(first: Fraction, second: Fraction) -> Any:
    """How far apart two probabilities are, as a factor of at least 1; 0 and 0 are equal."""
    if first == second:
        return Fraction(1)
    if not first or not second:
        return INFINITE
    return max(first / second, second / first)


def factor_with_prior(channel: list[list[Fraction]], prior: list[Fraction]) -> Any:
    """Definition 1: the largest factor between P(x, s) and P(x) P(s)."""
    outputs = range(len(channel[0]))
    total = [sum(p * row[s] for p, row in zip(prior, channel, strict=True)) for s in outputs]
    pairs = [(p * row[s], p * total[s]) for p, row in zip(prior, channel, strict=True) for s in outputs]
    return max(ratio(joint, apart) for joint, apart in pairs)


def factor_without_prior(channel: list[list[Fraction]]) -> Any:
    """Corollary 1: the largest factor between two inputs' probabilities of one output."""
    return max(ratio(one[s], other[s]) for one in channel for other in channel for s in range(len(one)))


def factor_of_a_part(joint: dict[tuple[int, ...], Fraction], channels: list[list[list[Fraction]]], part: int) -> Any:
    """Definition 1 for X_i and (Y, all other parts): each part goes through its channel; `joint`: P(x_1, ..., x_n)."""
    outputs = [range(len(channel[0])) for channel in channels]
    together: dict[Any, Fraction] = {}
    alone: dict[int, Fraction] = {}
    for x, p in joint.items():
        alone[x[part]] = alone.get(x[part], Fraction(0)) + p
        for y in product(*outputs):
            chance = math.prod((channel[a][b] for channel, a, b in zip(channels, x, y, strict=True)), start=p)
            key = (x[part], y, x[:part] + x[part + 1 :])
            together[key] = together.get(key, Fraction(0)) + chance
    others: dict[Any, Fraction] = {}
    for (_, y, rest), chance in together.items():
        others[y, rest] = others.get((y, rest), Fraction(0)) + chance
    return max(ratio(together.get((x, *o), Fraction(0)), p * q) for x, p in alone.items() for o, q in others.items())


def logarithm(number: Fraction) -> Decimal:
    """The natural logarithm to some fifty digits."""
    return (Decimal(number.numerator) / Decimal(number.denominator)).ln()


def mutual_information(channel: list[list[Fraction]], prior: list[Fraction]) -> float:
    """In nats, term by term."""
    outputs = range(len(channel[0]))
    total = [sum(p * row[s] for p, row in zip(prior, channel, strict=True)) for s in outputs]
    return math.fsum(
        float(p * row[s]) * float(logarithm(row[s] / total[s]))
        for p, row in zip(prior, channel, strict=True)
        for s in outputs
        if p * row[s]
    )


def histogram_factor(rows: list[list[Fraction]], released: tuple[int, ...]) -> Any:
    """The largest likelihood ratio between two possible values of one row, given the released histogram.

    rows[i][v] is the probability that row i has value v; rows are independent. None: the release cannot happen.
    """
    values = range(len(rows[0]))
    found: list[Any] = []
    for i in range(len(rows)):
        likelihood = dict.fromkeys(values, Fraction(0))
        for others in product(values, repeat=len(rows) - 1):
            probability = math.prod(
                (row[v] for row, v in zip(rows[:i] + rows[i + 1 :], others, strict=True)), start=Fraction(1)
            )
            for v in values:
                counts = Counter([*others, v])
                if tuple(counts[u] for u in values) == released:
                    likelihood[v] += probability
        possible = [likelihood[v] for v in values if rows[i][v]]
        if not any(possible):
            return None
        found.append(max(ratio(one, other) for one in possible for other in possible))
    return max(found)


def upper_tail(successes: int, trials: int, probability: Fraction) -> Fraction:
    """P(at least so many successes)."""
    return sum(
        (
            math.comb(trials, j) * probability**j * (1 - probability) ** (trials - j)
            for j in range(successes, trials + 1)
        ),
        start=Fraction(0),
    )
