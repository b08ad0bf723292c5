"""The clauses of OpenMP 5.2: what stands between the parentheses of each (3.2, and each clause's own section).

A clause is `name`, or `name(MODIFIERS : MAIN : MODIFIERS)` where a rule says which parts there are. A name that is
not here makes a clause of form OPAQUE that is kept as it is.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


class Form(enum.Enum):
    """The main part of a clause."""

    BARE = "bare"  # nothing in parentheses
    LIST = "list"  # locators or variables
    EXPRESSION = "expression"  # one or several expressions or keywords
    OPAQUE = "opaque"  # a little language of its own
    DIRECTIVE = "directive"  # another directive


class Prefix(enum.Enum):
    """What may stand before a colon."""

    NONE = "none"
    WORDS = "words"  # modifiers with arguments, separated by commas or blanks
    TEXT = "text"  # separated by commas only: a reduction identifier, an expression
    DIRECTIVE = "directive"  # a directive-name-modifier
    BEHAVIOR = "behavior"  # words, which also stand alone without the colon


@dataclass(frozen=True, slots=True)
class ClauseRule:
    """A clause. optional: the parentheses may be absent. suffix: modifiers may follow a colon behind the list."""

    name: str
    form: Form
    prefix: Prefix = Prefix.NONE
    optional: bool = False
    suffix: bool = False


_BARE = """
acq_rel acquire capture compare dynamic_allocators for full inbranch mergeable no_openmp no_openmp_routines
no_parallelism nogroup notinbranch nowait parallel read relaxed release reverse_offload sections seq_cst simd
taskgroup threads unified_address unified_shared_memory untied weak write
"""
_PLAIN_LISTS = """
copyin copyprivate enter exclusive firstprivate has_device_addr inclusive is_device_ptr link nontemporal private
shared uniform use_device_addr use_device_ptr
"""
_EXPRESSIONS = """
align allocator at atomic_default_mem_order bind collapse default detach device_type dist_schedule fail filter final
hint holds memory_order message nocontext novariants num_threads priority proc_bind safelen severity simdlen sizes
thread_limit use
"""
_OPAQUE = "absent append_args contains initializer match"

_RULES: tuple[ClauseRule, ...] = (
    *(ClauseRule(name, Form.BARE) for name in _BARE.split()),
    *(ClauseRule(name, Form.LIST) for name in _PLAIN_LISTS.split()),
    *(ClauseRule(name, Form.EXPRESSION) for name in _EXPRESSIONS.split()),
    *(ClauseRule(name, Form.OPAQUE) for name in _OPAQUE.split()),
    ClauseRule("adjust_args", Form.LIST, Prefix.WORDS),
    ClauseRule("affinity", Form.LIST, Prefix.WORDS),
    ClauseRule("aligned", Form.LIST, suffix=True),
    ClauseRule("allocate", Form.LIST, Prefix.TEXT),
    ClauseRule("defaultmap", Form.EXPRESSION, Prefix.BEHAVIOR),
    ClauseRule("depend", Form.LIST, Prefix.WORDS),
    ClauseRule("destroy", Form.LIST, optional=True),
    ClauseRule("device", Form.EXPRESSION, Prefix.WORDS),
    ClauseRule("doacross", Form.EXPRESSION, Prefix.WORDS),
    ClauseRule("from", Form.LIST, Prefix.WORDS),
    ClauseRule("grainsize", Form.EXPRESSION, Prefix.WORDS),
    ClauseRule("if", Form.EXPRESSION, Prefix.DIRECTIVE),
    ClauseRule("in_reduction", Form.LIST, Prefix.TEXT),
    ClauseRule("indirect", Form.EXPRESSION, optional=True),
    ClauseRule("init", Form.LIST, Prefix.WORDS),
    ClauseRule("lastprivate", Form.LIST, Prefix.WORDS),
    ClauseRule("linear", Form.LIST, suffix=True),
    ClauseRule("map", Form.LIST, Prefix.WORDS),
    ClauseRule("num_tasks", Form.EXPRESSION, Prefix.WORDS),
    ClauseRule("num_teams", Form.EXPRESSION, Prefix.TEXT),
    ClauseRule("order", Form.EXPRESSION, Prefix.WORDS),
    ClauseRule("ordered", Form.EXPRESSION, optional=True),
    ClauseRule("otherwise", Form.DIRECTIVE),
    ClauseRule("partial", Form.EXPRESSION, optional=True),
    ClauseRule("reduction", Form.LIST, Prefix.TEXT),
    ClauseRule("schedule", Form.EXPRESSION, Prefix.WORDS),
    ClauseRule("task_reduction", Form.LIST, Prefix.TEXT),
    ClauseRule("to", Form.LIST, Prefix.WORDS),
    ClauseRule("update", Form.EXPRESSION, optional=True),
    ClauseRule("uses_allocators", Form.OPAQUE, Prefix.TEXT),
    ClauseRule("when", Form.DIRECTIVE, Prefix.TEXT),
)

CLAUSES: Mapping[str, ClauseRule] = MappingProxyType({rule.name: rule for rule in _RULES})
"""Every clause by its name."""

BEHAVIORS = frozenset({"alloc", "default", "firstprivate", "from", "none", "present", "to", "tofrom"})
"""The implicit-behaviors of `defaultmap` (OpenMP 5.2, 5.8.7)."""
