"""Integer values as polynomials over atoms.

An atom stands for one unknown integer: the initial value of a variable, what a call returned, the value that a loop
gives a variable, or an operation that is not a polynomial (division, remainder, shift). Two expressions with the
same polynomial have the same value (value numbering), however they are spelled; arithmetic is that of the integers,
so a program whose index arithmetic wraps around is not described.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

Monomial = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Poly:
    """Sum of coefficient * product of atoms; the empty monomial is the constant."""

    terms: frozenset[tuple[Monomial, int]]

    def __add__(self, other: Poly) -> Poly:
        return _poly([*self.terms, *other.terms])

    def __sub__(self, other: Poly) -> Poly:
        return self + other * constant(-1)

    def __mul__(self, other: Poly) -> Poly:
        return _poly([(tuple(sorted(a + b)), c * d) for a, c in self.terms for b, d in other.terms])

    @property
    def value(self) -> int | None:
        """The value if it is a constant."""
        if not self.terms:
            return 0
        if len(self.terms) == 1:
            ((monomial, coefficient),) = self.terms
            if not monomial:
                return coefficient
        return None

    @property
    def atoms(self) -> frozenset[int]:
        """All atoms that occur."""
        return frozenset(atom for monomial, _ in self.terms for atom in monomial)

    def divided(self, divisor: int) -> Poly | None:
        """The quotient where every coefficient is divisible."""
        if divisor == 0 or any(c % divisor for _, c in self.terms):
            return None
        return Poly(frozenset((m, c // divisor) for m, c in self.terms))

    def linear_in(self, atom: int) -> tuple[Poly, Poly] | None:
        """(a, b) with self = a * atom + b and neither holding the atom."""
        slope, rest = [], []
        for monomial, coefficient in self.terms:
            if atom in monomial:
                if monomial.count(atom) > 1:
                    return None
                at = monomial.index(atom)
                slope.append((monomial[:at] + monomial[at + 1 :], coefficient))
            else:
                rest.append((monomial, coefficient))
        return _poly(slope), _poly(rest)

    def evaluate(self, values: Mapping[int, float], unknown: float) -> float:
        """An estimate of the value, every atom without a value being `unknown`."""
        total = 0.0
        for monomial, coefficient in self.terms:
            product = float(coefficient)
            for atom in monomial:
                product *= values.get(atom, unknown)
            total += product
        return total


def _poly(terms: list[tuple[Monomial, int]]) -> Poly:
    summed: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        summed[monomial] = summed.get(monomial, 0) + coefficient
    return Poly(frozenset((m, c) for m, c in summed.items() if c))


def constant(value: int) -> Poly:
    """The polynomial of a constant."""
    return Poly(frozenset({((), value)})) if value else Poly(frozenset())


ZERO = constant(0)
ONE = constant(1)


@dataclass(frozen=True, slots=True)
class Atom:
    """What an atom stands for. kind "op": arguments are the operator and two polynomials."""

    kind: str
    arguments: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """Values that a loop gives its variable: low, low + step, ..., at most high; all of them if complete."""

    low: Poly
    high: Poly
    step: int
    complete: bool


@dataclass(slots=True)
class Atoms:
    """All atoms of an analysis, by number, and the ranges of those that loops define."""

    known: list[Atom] = field(default_factory=list)
    numbers: dict[tuple[object, ...], int] = field(default_factory=dict)
    ranges: dict[int, Range] = field(default_factory=dict)

    def number(self, kind: str, *arguments: object) -> int:
        """The number of an atom."""
        key = (kind, *arguments)
        found = self.numbers.get(key)
        if found is None:
            found = self.numbers[key] = len(self.known)
            self.known.append(Atom(kind, arguments))
        return found

    def poly(self, kind: str, *arguments: object) -> Poly:
        """The polynomial of one atom."""
        return Poly(frozenset({((self.number(kind, *arguments),), 1)}))

    def operation(self, operator: str, left: Poly, right: Poly) -> Poly:
        """left operator right, folded where it can be."""
        if operator == "+":
            return left + right
        if operator == "-":
            return left - right
        if operator == "*":
            return left * right
        a, b = left.value, right.value
        if operator == "<<" and b is not None and 0 <= b < 63:
            return left * constant(1 << b)
        if a is not None and b is not None:
            if operator == "/" and b:
                return constant(int(a / b))
            if operator == "%" and b:
                return constant(a - b * int(a / b))
            if operator == ">>" and b >= 0:
                return constant(a >> b)
            if operator == "&":
                return constant(a & b)
            if operator == "|":
                return constant(a | b)
        if operator == "/" and b:
            whole = left.divided(b)
            if whole is not None:
                return whole
        return self.poly("op", operator, left, right)

    def sign(self, poly: Poly) -> int | None:
        """1 if the value is surely >= 0, -1 if surely <= 0, 0 if zero; atoms are taken as not negative."""
        if not poly.terms:
            return 0
        positive = all(c > 0 for _, c in poly.terms)
        if positive:
            return 1
        if all(c < 0 for _, c in poly.terms):
            return -1
        return None

    def loop_atoms(self, poly: Poly) -> Iterator[int]:
        """Atoms of the polynomial that have a range, innermost loop (the newest) first."""
        return iter(sorted((a for a in poly.atoms if a in self.ranges), reverse=True))

    def bounds(self, low: Poly, high: Poly, keep: frozenset[int] = frozenset()) -> tuple[Poly, Poly] | None:
        """[low, high] with every loop atom, except those in `keep`, replaced by the ends of its range."""
        for _ in range(32):
            loops = [a for a in self.loop_atoms(low + high * constant(3)) if a not in keep]
            if not loops:
                return low, high
            atom = loops[0]
            loop = self.ranges[atom]
            new = []
            for poly, upper in ((low, False), (high, True)):
                parts = poly.linear_in(atom)
                if parts is None:
                    return None
                slope, rest = parts
                sign = self.sign(slope)
                if sign is None:
                    return None
                end = loop.high if (sign >= 0) == upper else loop.low
                new.append(slope * end + rest)
            low, high = new
        return None
