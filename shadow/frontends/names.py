"""The user's names of PTX symbols: a small demangler for variables (Itanium C++ ABI, 5.1).

Reads nested and local names (`_ZZ...E4tile`, `_ZN2ns7counterE`) and gives the last component. Anything
else, such as the names of Numba, is left as it is.
"""

from __future__ import annotations

import re

_LENGTH = re.compile(r"(\d+)")
_NESTED = re.compile(r"_ZN[rVK]*")


def function_name(symbol: str) -> str:
    """The qualified name of a function without template arguments and parameters, as `ns::scale`.

    The symbol itself if it is not mangled, or if a class template stands in the name.
    """
    nested = _NESTED.match(symbol)
    position = nested.end() if nested else 2
    components = []
    while symbol.startswith("_Z") and (match := _LENGTH.match(symbol, position)):
        start = match.end()
        position = start + int(match.group())
        components.append(symbol[start:position])
        if not nested:
            break
    return "::".join(components) or symbol


def variable_name(symbol: str) -> str:
    """The variable's own name without its scopes; the symbol itself if it is not mangled."""
    if not symbol.startswith("_Z"):
        return symbol
    components = []
    position = 2
    while position < len(symbol):
        match = _LENGTH.match(symbol, position)
        if match is None:
            position += 1
            continue
        start = match.end()
        length = int(match.group())
        component = symbol[start : start + length]
        if len(component) == length and re.fullmatch(r"[A-Za-z_]\w*", component):
            components.append(component)
            position = start + length
        else:
            position = start
    return components[-1] if components else symbol
