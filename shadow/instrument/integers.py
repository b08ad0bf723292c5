"""Integer instructions of PTX (PTX ISA 9.7.1 to 9.7.9) on affine forms.

A register of w bits holds a form when its bits are the form's value modulo 2^w: additions, differences and
products with numbers are exact whatever wraps. Where an instruction reads its operand as a number (a wider
result, a comparison, a division) the form must lie in the range of that type, moved by a multiple of 2^w if
need be; else the result is a new symbol of which only the type's range is known. So no wrap-around is ever
taken for none.
Not handled: products of two unknowns, bit fields, permutations; their results are new symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

from racedart.shadow.instrument.affine import Form, Interval, Known, Terms, divided, hull, normal, symbol
from racedart.shadow.instrument.predicates import Formula, Not, Unknown, Within
from racedart.shadow.ptx.types import Type


@dataclass
class Symbols:
    """The symbols of an analysis: their intervals, permanent facts, and what each quotient divides."""

    intervals: dict[str, Interval] = field(default_factory=dict)
    always: dict[Terms, Interval] = field(default_factory=dict)
    quotients: dict[str, Form] = field(default_factory=dict)

    def new(self, name: str, interval: Interval) -> Form:
        """A symbol with an interval; a single value is that number."""
        if interval[0] == interval[1]:
            assert isinstance(interval[0], int)
            return Form(interval[0])
        self.intervals[name] = interval
        return symbol(name)


def limits(type_: Type) -> Interval:
    """The numbers of an integer type."""
    if type_.is_signed:
        return -(1 << (type_.bits - 1)), (1 << (type_.bits - 1)) - 1
    return 0, (1 << type_.bits) - 1


def any_value(bits: int) -> Interval:
    """Numbers that stand for every content of a register."""
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


@dataclass(frozen=True)
class Reader:
    """One instruction's view: what is known before it, and the name of the symbol for what it cannot tell."""

    symbols: Symbols
    known: Known
    name: str

    def fresh(self, interval: Interval) -> Form:
        """The instruction's own symbol."""
        return self.symbols.new(self.name, interval)

    def number(self, form: Form, type_: Type) -> Form | None:
        """The form whose value is what a register with this form holds as a number of the type."""
        low, high = self.known.range(form)
        if low == -inf or high == inf:
            return None
        least, greatest = limits(type_)
        assert isinstance(low, int)
        assert isinstance(least, int)
        moved = (low - least >> type_.bits) << type_.bits
        return form.plus(-moved) if high - moved <= greatest else None

    def read(self, form: Form, type_: Type) -> Form:
        """As `number`, a symbol of the type's range where that is none."""
        number = self.number(form, type_)
        return self.fresh(limits(type_)) if number is None else number

    def divide(self, form: Form, divisor: int) -> tuple[Form, Form]:
        """Quotient, rounded down, and remainder of a form's value by a positive number.

        The quotient of what the divisor does not divide is a symbol that depends on this part alone, so that
        `quotient * divisor + remainder` is the form again.
        """
        whole = Form(form.constant // divisor, tuple((s, c // divisor) for s, c in form.terms if c % divisor == 0))
        part = Form(form.constant % divisor, tuple((s, c) for s, c in form.terms if c % divisor))
        low, high = self.known.range(part)
        if low != -inf and high != inf and low // divisor == high // divisor:
            quotient = Form(int(low // divisor))
        else:
            name = f"({'+'.join(f'{c}*{s}' for s, c in part.terms)}+{part.constant})/{divisor}"
            bounds: Interval = (
                low if low == -inf else low // divisor,
                high if high == inf else high // divisor,
            )
            known = self.symbols.intervals.get(name)
            self.symbols.intervals[name] = bounds if known is None else hull(known, bounds)
            self.symbols.quotients[name] = part
            quotient = symbol(name)
        remainder = part - quotient.times(divisor)
        if remainder.terms:
            key, factor = normal(remainder.terms)
            self.symbols.always[key] = divided((-remainder.constant, divisor - 1 - remainder.constant), factor)
        return whole + quotient, remainder

    def compare(self, comparison: str, a: Form, b: Form, type_: Type) -> Formula:
        """The formula of a comparison of integers."""
        if comparison in {"eq", "ne"}:
            low, high = self.known.range(a - b)
            if -(1 << type_.bits) < low and high < 1 << type_.bits:
                equal = Within(a - b, (0, 0))
                return equal if comparison == "eq" else Not(equal)
            return Unknown()
        first, second = self.number(a, type_), self.number(b, type_)
        if comparison in {"gt", "le", "hi", "ls"}:
            # a > b is b < a, and a <= b is not b < a.
            less = self._less(second, first, b, type_)
        else:
            less = self._less(first, second, a, type_)
        if comparison in {"lt", "gt", "lo", "hi"}:
            return less
        return Not(less) if comparison in {"ge", "le", "hs", "ls"} else Unknown()

    def _less(self, a: Form | None, b: Form | None, operand: Form, type_: Type) -> Formula:
        if a is not None and b is not None:
            return Within(a - b, (-inf, -1))
        if b is None or b.terms or type_.is_signed:
            return Unknown()
        # An unsigned comparison that excludes negative numbers as well: 0 <= i < n as (unsigned)i < n.
        low, high = self.known.range(operand)
        if low >= b.constant - (1 << type_.bits) and high < 1 << type_.bits:
            return Within(operand, (0, b.constant - 1), only_if=True)
        return Unknown()


Operation = Callable[[Reader, Type, list[Form]], Form]


def _product(reader: Reader, a: Form, b: Form, type_: Type) -> Form:
    if not a.terms:
        return b.times(a.constant)
    if not b.terms:
        return a.times(b.constant)
    one, two = reader.known.range(a), reader.known.range(b)
    if one[0] >= 0 and two[0] >= 0 and one[1] != inf and two[1] != inf:
        return reader.fresh((one[0] * two[0], one[1] * two[1]))
    return reader.fresh(any_value(type_.bits))


def _wide(reader: Reader, type_: Type, args: list[Form]) -> Form:
    first, second = reader.number(args[0], type_), reader.number(args[1], type_)
    double = Type("", type_.kind, 2 * type_.bits)
    if first is None or second is None:
        return reader.fresh(any_value(double.bits))
    return _product(reader, first, second, double)


def _shift_left(reader: Reader, type_: Type, args: list[Form]) -> Form:
    if args[1].terms:
        return reader.fresh(any_value(type_.bits))
    return args[0].times(1 << args[1].constant) if 0 <= args[1].constant < type_.bits else Form(0)


def _shift_right(reader: Reader, type_: Type, args: list[Form]) -> Form:
    number = reader.read(args[0], type_ if type_.is_signed else Type("", "unsigned", type_.bits))
    low, high = reader.known.range(number)
    if args[1].terms:
        return reader.fresh((min(low, 0), max(high, -1)))
    amount = args[1].constant
    if not 0 <= amount < type_.bits:
        return reader.fresh((-1, 0))
    return reader.divide(number, 1 << amount)[0]


def _quotient(reader: Reader, type_: Type, args: list[Form]) -> Form:
    pair = _division(reader, type_, args)
    return reader.fresh(any_value(type_.bits)) if pair is None else pair[0]


def _remainder(reader: Reader, type_: Type, args: list[Form]) -> Form:
    pair = _division(reader, type_, args)
    return reader.fresh(any_value(type_.bits)) if pair is None else pair[1]


def _division(reader: Reader, type_: Type, args: list[Form]) -> tuple[Form, Form] | None:
    """Where rounding down is what the instruction does: no negative number, and a known divisor."""
    a, b = reader.number(args[0], type_), reader.number(args[1], type_)
    if a is None or b is None or b.terms or b.constant <= 0 or reader.known.range(a)[0] < 0:
        return None
    return reader.divide(a, b.constant)


def _and(reader: Reader, type_: Type, args: list[Form]) -> Form:
    a, b = args if not args[1].terms else args[::-1]
    if not b.terms:
        mask = b.constant % (1 << type_.bits)
        if not a.terms:
            return Form(a.constant % (1 << type_.bits) & mask)
        if mask == (1 << type_.bits) - 1:
            return a
        if mask & (mask + 1) == 0:
            return reader.divide(a, mask + 1)[1]
        clear = (1 << type_.bits) - mask
        if clear & (clear - 1) == 0:
            return a - reader.divide(a, clear)[1]
        return reader.fresh((0, mask))
    return reader.fresh(any_value(type_.bits))


def _or(reader: Reader, type_: Type, args: list[Form]) -> Form:
    # Compilers write additions that carry nothing as `or`.
    for a, b in (args, args[::-1]):
        low, high = reader.known.range(b)
        if low < 0 or high == inf:
            continue
        unit = 1 << int(high).bit_length()
        if all(c % unit == 0 for c in (a.constant, *(c for _, c in a.terms))):
            return a + b
    if not args[0].terms and not args[1].terms:
        return Form(args[0].constant | args[1].constant)
    return reader.fresh(any_value(type_.bits))


def _not(reader: Reader, type_: Type, args: list[Form]) -> Form:
    return args[0].times(-1).plus(-1)


def _extreme(largest: bool) -> Operation:
    def operation(reader: Reader, type_: Type, args: list[Form]) -> Form:
        a, b = reader.number(args[0], type_), reader.number(args[1], type_)
        if a is None or b is None:
            return reader.fresh(limits(type_))
        low, high = reader.known.range(a - b)
        if low >= 0:
            return a if largest else b
        if high <= 0:
            return b if largest else a
        one, two = reader.known.range(a), reader.known.range(b)
        choose = max if largest else min
        return reader.fresh((choose(one[0], two[0]), choose(one[1], two[1])))

    return operation


def _add(reader: Reader, type_: Type, args: list[Form]) -> Form:
    return args[0] + args[1]


def _subtract(reader: Reader, type_: Type, args: list[Form]) -> Form:
    return args[0] - args[1]


def _multiply(reader: Reader, type_: Type, args: list[Form]) -> Form:
    return _product(reader, args[0], args[1], type_)


def _multiply_add(reader: Reader, type_: Type, args: list[Form]) -> Form:
    return _product(reader, args[0], args[1], type_) + args[2]


def _wide_add(reader: Reader, type_: Type, args: list[Form]) -> Form:
    return _wide(reader, type_, args) + args[2]


OPERATIONS: dict[tuple[str, str], Operation] = {
    ("add", ""): _add,
    ("sub", ""): _subtract,
    ("neg", ""): lambda reader, type_, args: args[0].times(-1),
    ("not", ""): _not,
    ("mul", "lo"): _multiply,
    ("mul", "wide"): _wide,
    ("mad", "lo"): _multiply_add,
    ("mad", "wide"): _wide_add,
    ("shl", ""): _shift_left,
    ("shr", ""): _shift_right,
    ("div", ""): _quotient,
    ("rem", ""): _remainder,
    ("and", ""): _and,
    ("or", ""): _or,
    ("min", ""): _extreme(largest=False),
    ("max", ""): _extreme(largest=True),
}
"""(opcode, modifier that selects the form) -> the operation on forms; `.sat` and `.cc` forms have none."""
