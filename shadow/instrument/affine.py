"""Affine forms over named symbols, intervals, and what is known of the symbols' values.

A form is `constant + sum(coefficient * symbol)` over exact integers. A symbol stands for one number of one
thread at one time: a thread or block index, a loop's iteration count, the address of an object, or a value of
which only an interval is known. `Known` holds intervals of symbols and of linear parts of forms (a guard such
as `16 * ctaid.x + tid.x <= 99`), and bounds a form by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from math import gcd, inf

Number = int | float
"""An integer, or an infinity as a bound."""
Interval = tuple[Number, Number]
"""Least and greatest value; empty where the first is greater."""
Terms = tuple[tuple[str, int], ...]

EVERYTHING: Interval = (-inf, inf)
DEPTH = 3
"""How many linear facts may be combined to bound one form."""


@dataclass(frozen=True, slots=True)
class Form:
    """An affine form; terms: (symbol, coefficient), ordered by symbol, no coefficient 0."""

    constant: int
    terms: Terms = ()

    def __add__(self, other: Form) -> Form:
        if not other.terms:
            return Form(self.constant + other.constant, self.terms)
        return make(self.constant + other.constant, (*self.terms, *other.terms))

    def __sub__(self, other: Form) -> Form:
        return self + other.times(-1)

    def plus(self, number: int) -> Form:
        """The form with a number added."""
        return Form(self.constant + number, self.terms)

    def times(self, factor: int) -> Form:
        """The form multiplied by a number."""
        if factor == 0:
            return Form(0)
        return Form(self.constant * factor, tuple((s, c * factor) for s, c in self.terms))

    def without(self, symbol: str) -> Form:
        """The form without the term of a symbol."""
        return Form(self.constant, tuple(term for term in self.terms if term[0] != symbol))

    def coefficient(self, symbol: str) -> int:
        """The coefficient of a symbol, 0 if it has none."""
        return next((c for s, c in self.terms if s == symbol), 0)

    def renamed(self, name: Callable[[str], str]) -> Form:
        """The form over other symbols."""
        return make(self.constant, ((name(s), c) for s, c in self.terms))


def make(constant: int, terms: Iterable[tuple[str, int]]) -> Form:
    """A form from terms in any order, several of a symbol added up."""
    total: dict[str, int] = {}
    for symbol, coefficient in terms:
        total[symbol] = total.get(symbol, 0) + coefficient
    return Form(constant, tuple(sorted((s, c) for s, c in total.items() if c)))


def symbol(name: str) -> Form:
    """The form of one symbol."""
    return Form(0, ((name, 1),))


def normal(terms: Terms) -> tuple[Terms, int]:
    """Terms divided by the greatest common divisor of their coefficients, the first made positive; the divisor."""
    divisor = gcd(*(c for _, c in terms))
    if terms[0][1] < 0:
        divisor = -divisor
    return tuple((s, c // divisor) for s, c in terms), divisor


def scaled(interval: Interval, factor: int) -> Interval:
    """The interval of `factor` times a value; the factor is not 0."""
    low, high = interval[0] * factor, interval[1] * factor
    return (low, high) if factor > 0 else (high, low)


def hull(a: Interval, b: Interval) -> Interval:
    """The least interval that holds both."""
    return min(a[0], b[0]), max(a[1], b[1])


def meet(a: Interval, b: Interval) -> Interval:
    """What two intervals have in common."""
    return max(a[0], b[0]), min(a[1], b[1])


def _floor(bound: Number, divisor: int) -> Number:
    return bound // divisor if isinstance(bound, int) else bound


def divided(interval: Interval, factor: int) -> Interval:
    """The integers whose product with the factor lies in the interval; the factor is not 0."""
    low, high = interval if factor > 0 else (-interval[1], -interval[0])
    size = abs(factor)
    return -_floor(-low, size), _floor(high, size)


@dataclass
class Known:
    """What is known of symbols and of sums of them.

    symbols and always: intervals of symbols and of normalised linear parts that hold wherever these are used.
    facts: intervals of normalised linear parts that hold at one place, such as what guards establish.
    """

    symbols: Mapping[str, Interval]
    always: Mapping[Terms, Interval]
    facts: dict[Terms, Interval] = field(default_factory=dict)

    def copy(self) -> Known:
        """The same knowledge, to be extended on its own."""
        return Known(self.symbols, self.always, dict(self.facts))

    def of_symbol(self, name: str) -> Interval:
        """The interval of one symbol."""
        interval = self.symbols.get(name, EVERYTHING)
        fact = self.facts.get(((name, 1),))
        return interval if fact is None else meet(interval, fact)

    def range(self, form: Form) -> Interval:
        """An interval that holds the form's value."""
        low, high = self._linear(form.terms, DEPTH)
        return low + form.constant, high + form.constant

    def _linear(self, terms: Terms, depth: int) -> Interval:
        low: Number = 0
        high: Number = 0
        for name, coefficient in terms:
            part = scaled(self.of_symbol(name), coefficient)
            low, high = low + part[0], high + part[1]
        if len(terms) < 2 or not depth:
            return low, high
        own = dict(terms)
        best = (low, high)
        for fact, interval in chain(self.facts.items(), self.always.items()):
            # A fact about one symbol is part of the symbol's interval.
            if len(fact) < 2 or not all(name in own for name, _ in fact):
                continue
            for factor in {own[name] // c for name, c in fact if own[name] % c == 0}:
                rest = make(0, (*terms, *((name, -c * factor) for name, c in fact))).terms
                if len(rest) < len(terms):
                    left = self._linear(rest, depth - 1)
                    part = scaled(interval, factor)
                    best = meet(best, (left[0] + part[0], left[1] + part[1]))
        return best

    def assume(self, form: Form, interval: Interval) -> bool:
        """Learn that a form lies in an interval; False if that cannot be."""
        found = meet(self.range(form), interval)
        if found[0] > found[1]:
            return False
        if not form.terms:
            return True
        key, factor = normal(form.terms)
        linear = divided((found[0] - form.constant, found[1] - form.constant), factor)
        if linear[0] > linear[1]:
            return False
        linear = meet(self.facts.get(key, EVERYTHING), linear)
        if linear[0] > linear[1]:
            return False
        self.facts[key] = linear
        if len(key) > 1:
            for name, coefficient in key:
                rest = self._linear(tuple(term for term in key if term[0] != name), 1)
                own = divided((linear[0] - rest[1], linear[1] - rest[0]), coefficient)
                own = meet(own, self.of_symbol(name))
                if own[0] > own[1]:
                    return False
                self.facts[((name, 1),)] = own
        return True

    def exclude(self, form: Form, value: int) -> bool:
        """Learn that a form does not have a value; False if it can have no other."""
        low, high = self.range(form)
        if low == high == value:
            return False
        if low == value:
            return self.assume(form, (low + 1, high))
        if high == value:
            return self.assume(form, (low, high - 1))
        return True

    def joined(self, others: list[Known]) -> Known:
        """What holds on every one of several paths, this one among them."""
        facts: dict[Terms, Interval] = {}
        for key in {key for known in (self, *others) for key in known.facts}:
            form = Form(0, key)
            low, high = self.range(form)
            for other in others:
                low, high = hull((low, high), other.range(form))
            if (low, high) != EVERYTHING:
                facts[key] = (low, high)
        return Known(self.symbols, self.always, facts)
