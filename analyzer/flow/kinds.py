"""Which types the interpretation tracks, and how.

Integers are tracked as polynomials over atoms; containers of the standard library as an object whose data lie
behind a pointer in it. Everything else that is no pointer, reference, array or record has no value.
"""

from __future__ import annotations

from racedart.analyzer.source.tree import Type

INTEGERS_NOT = ("float", "double", "half", "_Float16", "long double", "__fp16", "_Complex")
CONTAINERS = ("std::vector<", "std::array<", "std::valarray<", "std::unique_ptr<", "std::shared_ptr<")
OTHER = Type("other", "")
"""Of an access whose extent is told in bytes."""


def is_integer(kind: Type) -> bool:
    """Whether values of a type are tracked as integers."""
    return kind.kind == "scalar" and not any(word in kind.spelling for word in INTEGERS_NOT)


def is_vector(kind: Type | None) -> bool:
    """std::vector, std::array, std::valarray, and smart pointers to arrays: records whose data lie behind them."""
    return kind is not None and kind.kind == "record" and kind.spelling.replace("const ", "").startswith(CONTAINERS)
