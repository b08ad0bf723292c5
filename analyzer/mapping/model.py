"""The values of inference: where data are on the device, what is transferred, and what a plan costs."""

from __future__ import annotations

from dataclasses import dataclass, field

from racedart.analyzer.flow.context import Context
from racedart.analyzer.flow.state import Base
from racedart.analyzer.mapping.extent import Hull
from racedart.analyzer.mapping.supergraph import Step
from racedart.analyzer.source.tree import Node


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Where an object is present on the device.

    kind: kernel (a map clause on the construct), statement (`target data` on one statement), range (from the
    statement `first` to `last` of a block), always (a declare target variable). steps: what executes inside.
    """

    kind: str
    context: Context
    first: Node
    last: Node
    steps: frozenset[Step]
    block: Node | None = None


@dataclass(slots=True, eq=False)
class Update:
    """A `target update`: to or from the device, before or after a statement, in every call of its function.

    section: bytes; None for the whole object. serves: the host writes (to) or reads (from) that it is for.
    exact: the section holds nothing but what the host wrote.
    """

    to: bool
    context: Context
    at: Node
    after: bool
    section: Hull | None
    serves: set[Step]
    exact: bool = False


@dataclass(slots=True, eq=False)
class Plan:
    """One object's regions, with map types per region, and updates; bytes and copies are estimates."""

    base: Base
    regions: list[Region]
    to: list[bool]
    from_: list[bool]
    updates: list[Update]
    section: Hull | None
    size: float = 0.0
    copies: float = 0.0
    handles: list[list[str]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
