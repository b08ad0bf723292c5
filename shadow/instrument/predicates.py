"""Predicates as formulas over affine forms: what a guard says when it is true, and when it is false."""

from __future__ import annotations

from dataclasses import dataclass

from racedart.shadow.instrument.affine import Form, Interval, Known


@dataclass(frozen=True, slots=True)
class Within:
    """The form lies in the interval; only_if: nothing is known when it does not."""

    form: Form
    interval: Interval
    only_if: bool = False


@dataclass(frozen=True, slots=True)
class Not:
    """The part is false."""

    part: Formula


@dataclass(frozen=True, slots=True)
class Both:
    """Both parts are true."""

    first: Formula
    second: Formula


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing is known."""


Formula = Within | Not | Both | Unknown


def either(first: Formula, second: Formula) -> Formula:
    """One of two formulas is true, or both."""
    return Not(Both(Not(first), Not(second)))


def decided(formula: Formula, known: Known) -> bool | None:
    """The formula's truth, where it is the same for all values."""
    match formula:
        case Within(form, (low, high), only_if):
            least, greatest = known.range(form)
            if low <= least and greatest <= high and not only_if:
                return True
            return False if greatest < low or high < least else None
        case Not(part):
            truth = decided(part, known)
            return None if truth is None else not truth
        case Both(first, second):
            a, b = decided(first, known), decided(second, known)
            if a is False or b is False:
                return False
            return True if a and b else None
    return None


def assume(formula: Formula, truth: bool, known: Known) -> bool:
    """Learn that a formula is true or false; False if that cannot be."""
    match formula:
        case Within(form, interval, only_if):
            if truth:
                return known.assume(form, interval)
            return only_if or _assume_outside(form, interval, known)
        case Not(part):
            return assume(part, not truth, known)
        case Both(first, second):
            if truth:
                return assume(first, True, known) and assume(second, True, known)
            a, b = decided(first, known), decided(second, known)
            if a and b:
                return False
            if a:
                return assume(second, False, known)
            if b:
                return assume(first, False, known)
    return True


def _assume_outside(form: Form, interval: Interval, known: Known) -> bool:
    low, high = interval
    if low == high:
        assert isinstance(low, int)
        return known.exclude(form, low)
    least, greatest = known.range(form)
    below, above = least < low, greatest > high
    if below and above:
        return True
    if below:
        return known.assume(form, (least, low - 1))
    return above and known.assume(form, (high + 1, greatest))
