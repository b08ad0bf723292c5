"""Arguments of a CUDA C++ or PTX kernel against its declared parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from racedart.finding.errors import UsageError
from racedart.shadow.frontends.buffers import Buffers, Composite, Word
from racedart.shadow.launch import Buffer, Param


@dataclass(frozen=True, slots=True)
class Parameter:
    """A declared parameter: its name, its type as written, and its size in bytes.

    pointee: type of what a pointer points to, None where that is unknown or anything. scalar: type of a
    number. pointer: True, False, or None where only the size is known. members: of a struct, with their offsets;
    empty where they are not known.
    """

    name: str
    type: str
    size: int
    pointer: bool | None = None
    pointee: np.dtype[Any] | None = None
    scalar: np.dtype[Any] | None = None
    members: tuple[Member, ...] = ()

    def __str__(self) -> str:
        return f"{self.type} {self.name}"


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a struct, at a byte of it."""

    at: int
    parameter: Parameter


def bind(
    kernel: str, parameters: Sequence[Parameter], args: Sequence[Any]
) -> tuple[tuple[Param, ...], tuple[Buffer, ...]]:
    """Parameters and buffers of a launch.

    Raises UsageError naming the kernel's parameters, what was given, and what to give.
    """
    listed = ", ".join(map(str, parameters)) or "none"
    if len(args) != len(parameters):
        raise UsageError(
            f"kernel {kernel} takes {len(parameters)} arguments ({listed}); {len(args)} were given: "
            f"give {len(parameters)}"
        )
    buffers = Buffers()
    data: list[Word] = []
    for parameter, value in zip(parameters, args, strict=True):
        try:
            data.append(_bound(parameter, value, buffers))
        except ValueError as error:
            raise UsageError(f"kernel {kernel}({listed}): argument {parameter.name!r} {error}") from None
    return buffers.finish(data)


def _bound(parameter: Parameter, value: Any, buffers: Buffers) -> Word:
    """Bytes of a value, the number of an array, or the members of a struct."""
    if isinstance(value, (dict, tuple, list)):
        return _struct(parameter, value, buffers)
    if isinstance(value, np.ndarray) and value.ndim == 0 and not parameter.pointer:
        value = value[()]
    if isinstance(value, np.ndarray):
        if parameter.pointer is False or parameter.size != 8:
            raise ValueError(f"is an array; the kernel takes {parameter.type}: give one number")
        if value.dtype.hasobject:
            raise ValueError("is an array of Python objects: give an array of numbers")
        if parameter.pointee is not None and not _alike(parameter.pointee, value.dtype):
            raise ValueError(
                f"is an array of {value.dtype.name}; the kernel takes {parameter.type}: give an array of "
                f"{parameter.pointee.name}"
            )
        return buffers.add(parameter.name, value)
    if value is None:
        if parameter.pointer is False or parameter.size != 8:
            raise ValueError(f"is a null pointer; the kernel takes {parameter.type}: give one number")
        return bytes(8)
    if isinstance(value, (bytes, bytearray)):
        if len(value) != parameter.size:
            raise ValueError(f"has {len(value)} bytes; {parameter.type} has {parameter.size}")
        return bytes(value)
    if parameter.pointer:
        raise ValueError(
            f"is {value!r} ({type(value).__name__}); the kernel takes {parameter.type}: give an array, such as "
            "zeros:1024:f4"
        )
    if isinstance(value, np.void):
        if value.nbytes != parameter.size:
            raise ValueError(f"has {value.nbytes} bytes; {parameter.type} has {parameter.size}")
        return value.tobytes()
    if not isinstance(value, (bool, int, float, np.generic)):
        raise ValueError(f"is a {type(value).__name__}; give an array, a number or None")
    return _scalar(parameter, value)


def _struct(parameter: Parameter, value: dict[str, Any] | Sequence[Any], buffers: Buffers) -> Word:
    """A struct from its members, by name or in order."""
    members = parameter.members
    if not members:
        raise ValueError(
            f"is a {type(value).__name__} of members, but {parameter.type} is no struct whose members can be seen: "
            f"give its {parameter.size} bytes"
        )
    known = [member.parameter.name for member in members]
    listed = ", ".join(str(member.parameter) for member in members)
    if isinstance(value, dict):
        wrong = sorted(set(value) ^ set(known))
        if wrong:
            raise ValueError(f"has the members {', '.join(value)}; {parameter.type} has {listed}: see {wrong[0]!r}")
        values = [value[name] for name in known]
    else:
        values = list(value)
        if len(values) != len(known):
            raise ValueError(f"has {len(values)} members; {parameter.type} has {len(known)} ({listed})")
    data = bytearray(parameter.size)
    pointers: list[tuple[int, int]] = []
    for member, item in zip(members, values, strict=True):
        try:
            word = _bound(member.parameter, item, buffers)
        except ValueError as error:
            raise ValueError(f"has a member {member.parameter.name!r} that {error}") from None
        if isinstance(word, Composite):
            data[member.at : member.at + len(word.data)] = word.data
            pointers += [(member.at + at, number) for at, number in word.pointers]
        elif isinstance(word, int):
            pointers.append((member.at, word))
        else:
            data[member.at : member.at + len(word)] = word
    return Composite(bytes(data), tuple(pointers))


def _scalar(parameter: Parameter, value: Any) -> bytes:
    dtype = parameter.scalar
    if dtype is None:
        # Only the size is known: a NumPy scalar brings its own type, a Python number takes what fits.
        if isinstance(value, np.generic):
            dtype = value.dtype
        else:
            kind = "f" if isinstance(value, float) else "i"
            if kind == "i" and value >= 1 << (8 * parameter.size - 1):
                kind = "u"
            if (kind, parameter.size) in {("f", 1)} or parameter.size not in {1, 2, 4, 8}:
                raise ValueError(f"is {value!r}; {parameter.type} of {parameter.size} bytes takes bytes")
            dtype = np.dtype(f"{kind}{parameter.size}")
        if dtype.itemsize != parameter.size:
            raise ValueError(f"has {dtype.itemsize} bytes ({dtype.name}); the parameter has {parameter.size}")
    if isinstance(value, np.generic) and value.dtype != dtype and not _alike(value.dtype, dtype):
        raise ValueError(f"is {value.dtype.name}; the kernel takes {parameter.type}: give {dtype.name}")
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        whole = isinstance(value, (int, np.integer)) or float(value).is_integer()
        number = int(value) if whole else None
        if number is None or not limits.min <= number <= limits.max:
            raise ValueError(f"is {value!r}, which is no value of {parameter.type}")
        return np.array(number, dtype).tobytes()
    return np.array(value, dtype).tobytes()


def _alike(a: np.dtype[Any], b: np.dtype[Any]) -> bool:
    """Equal up to the sign of integers."""
    kinds = {"i": "i", "u": "i", "b": "i"}
    return a.itemsize == b.itemsize and kinds.get(a.kind, a.kind) == kinds.get(b.kind, b.kind)
