"""PTX fundamental types (PTX ISA 5.2) as data: kind and width of each type name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["pred", "bits", "unsigned", "signed", "float", "packed", "pair"]
"""packed: two floats of 16 bits; pair: two integers of 16 bits."""


@dataclass(frozen=True, slots=True)
class Type:
    """A type name without its dot, what it holds and its width in bits."""

    name: str
    kind: Kind
    bits: int

    @property
    def bytes(self) -> int:
        """Width in memory, in bytes; predicates have none and give 1."""
        return max(self.bits // 8, 1)

    @property
    def is_signed(self) -> bool:
        """Whether widening copies the sign."""
        return self.kind == "signed"

    @property
    def is_float(self) -> bool:
        """Whether arithmetic is floating point."""
        return self.kind == "float"


def _types() -> dict[str, Type]:
    table = {"pred": Type("pred", "pred", 1)}
    for bits in (8, 16, 32, 64, 128):
        table[f"b{bits}"] = Type(f"b{bits}", "bits", bits)
    for bits in (8, 16, 32, 64):
        table[f"u{bits}"] = Type(f"u{bits}", "unsigned", bits)
        table[f"s{bits}"] = Type(f"s{bits}", "signed", bits)
    for bits in (16, 32, 64):
        table[f"f{bits}"] = Type(f"f{bits}", "float", bits)
    table["bf16"] = Type("bf16", "float", 16)
    table["f16x2"] = Type("f16x2", "packed", 32)
    table["bf16x2"] = Type("bf16x2", "packed", 32)
    table["u16x2"] = Type("u16x2", "pair", 32)
    table["s16x2"] = Type("s16x2", "pair", 32)
    table["tf32"] = Type("tf32", "bits", 32)
    for name in ("texref", "samplerref", "surfref"):
        table[name] = Type(name, "bits", 64)
    return table


TYPES = _types()
