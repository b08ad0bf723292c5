"""The directives of OpenMP 5.2 for C and C++: category, association, clauses, and how they combine.

Leaves are listed; combined and composite names are composed by the rules of OpenMP 5.2, 17.3, and take the clauses
of their leaves (17.2). `master` is the deprecated name of `masked`. Not here: directives that only Fortran has, and
the attribute syntax `[[omp::directive(...)]]`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType


class Association(enum.Enum):
    """What a directive governs (OpenMP 5.2, 3.1)."""

    NONE = "none"
    BLOCK = "block"
    LOOP = "loop"
    DECLARATION = "declaration"
    DELIMITED = "delimited"
    SEPARATING = "separating"


class Category(enum.Enum):
    """The category of a directive (OpenMP 5.2, chapter 3)."""

    DECLARATIVE = "declarative"
    EXECUTABLE = "executable"
    INFORMATIONAL = "informational"
    META = "meta"
    SUBSIDIARY = "subsidiary"
    UTILITY = "utility"


@dataclass(frozen=True, slots=True)
class DirectiveRule:
    """A directive.

    clauses: the names of those that it takes. argument: what stands in parentheses behind its name: "", "list",
    "opaque". leaves: the constructs of a combined or composite one, else its own name.
    """

    name: str
    category: Category
    association: Association
    clauses: frozenset[str]
    argument: str = ""
    leaves: tuple[str, ...] = ()


_EXECUTABLE, _DECLARATIVE = Category.EXECUTABLE, Category.DECLARATIVE
_INFORMATIONAL, _META = Category.INFORMATIONAL, Category.META
_SUBSIDIARY, _UTILITY = Category.SUBSIDIARY, Category.UTILITY
_NONE, _BLOCK, _LOOP = Association.NONE, Association.BLOCK, Association.LOOP
_DECLARATION, _DELIMITED, _SEPARATING = Association.DECLARATION, Association.DELIMITED, Association.SEPARATING

_ORDERS = "seq_cst acq_rel acquire release relaxed"
_ASSUMPTIONS = "absent contains holds no_openmp no_openmp_routines no_parallelism"

# name | category | association | clauses | argument
_LEAVES: tuple[tuple[str, Category, Association, str, str], ...] = (
    ("allocate", _DECLARATIVE, _NONE, "align allocator", "list"),
    ("assume", _INFORMATIONAL, _BLOCK, _ASSUMPTIONS, ""),
    ("assumes", _INFORMATIONAL, _NONE, _ASSUMPTIONS, ""),
    ("begin assumes", _INFORMATIONAL, _DELIMITED, _ASSUMPTIONS, ""),
    ("end assumes", _INFORMATIONAL, _DELIMITED, "", ""),
    (
        "atomic",
        _EXECUTABLE,
        _BLOCK,
        f"read write update capture compare fail weak hint memory_order {_ORDERS}",
        "",
    ),
    ("barrier", _EXECUTABLE, _NONE, "", ""),
    ("cancel", _EXECUTABLE, _NONE, "parallel for sections taskgroup if", ""),
    ("cancellation point", _EXECUTABLE, _NONE, "parallel for sections taskgroup", ""),
    ("critical", _EXECUTABLE, _BLOCK, "hint", "opaque"),
    ("declare mapper", _DECLARATIVE, _NONE, "map", "opaque"),
    ("declare reduction", _DECLARATIVE, _NONE, "initializer", "opaque"),
    (
        "declare simd",
        _DECLARATIVE,
        _DECLARATION,
        "aligned inbranch notinbranch linear simdlen uniform",
        "",
    ),
    ("declare target", _DECLARATIVE, _DELIMITED, "enter to link device_type indirect", "list"),
    ("begin declare target", _DECLARATIVE, _DELIMITED, "device_type indirect", ""),
    ("end declare target", _DECLARATIVE, _DELIMITED, "", ""),
    ("declare variant", _DECLARATIVE, _DECLARATION, "adjust_args append_args match", "opaque"),
    ("begin declare variant", _DECLARATIVE, _DELIMITED, "match", ""),
    ("end declare variant", _DECLARATIVE, _DELIMITED, "", ""),
    ("depobj", _EXECUTABLE, _NONE, "depend destroy update", "list"),
    ("dispatch", _EXECUTABLE, _BLOCK, "depend device is_device_ptr nocontext novariants nowait", ""),
    (
        "distribute",
        _EXECUTABLE,
        _LOOP,
        "allocate collapse dist_schedule firstprivate lastprivate order private",
        "",
    ),
    ("error", _UTILITY, _NONE, "at message severity", ""),
    ("flush", _EXECUTABLE, _NONE, _ORDERS, "list"),
    (
        "for",
        _EXECUTABLE,
        _LOOP,
        "allocate collapse firstprivate lastprivate linear nowait order ordered private reduction schedule",
        "",
    ),
    ("interop", _EXECUTABLE, _NONE, "depend destroy device init nowait use", ""),
    ("loop", _EXECUTABLE, _LOOP, "bind collapse lastprivate order private reduction", ""),
    ("masked", _EXECUTABLE, _BLOCK, "filter", ""),
    ("master", _EXECUTABLE, _BLOCK, "", ""),
    ("metadirective", _META, _NONE, "when otherwise default", ""),
    ("begin metadirective", _META, _DELIMITED, "when otherwise default", ""),
    ("end metadirective", _META, _DELIMITED, "", ""),
    ("nothing", _UTILITY, _NONE, "", ""),
    ("ordered", _EXECUTABLE, _BLOCK, "threads simd depend doacross", ""),
    (
        "parallel",
        _EXECUTABLE,
        _BLOCK,
        "allocate copyin default firstprivate if num_threads private proc_bind reduction shared",
        "",
    ),
    (
        "requires",
        _INFORMATIONAL,
        _NONE,
        "atomic_default_mem_order dynamic_allocators reverse_offload unified_address unified_shared_memory",
        "",
    ),
    ("scan", _SUBSIDIARY, _SEPARATING, "exclusive inclusive", ""),
    ("scope", _EXECUTABLE, _BLOCK, "allocate firstprivate nowait private reduction", ""),
    ("section", _SUBSIDIARY, _SEPARATING, "", ""),
    (
        "sections",
        _EXECUTABLE,
        _BLOCK,
        "allocate firstprivate lastprivate nowait private reduction",
        "",
    ),
    (
        "simd",
        _EXECUTABLE,
        _LOOP,
        "aligned collapse if lastprivate linear nontemporal order private reduction safelen simdlen",
        "",
    ),
    ("single", _EXECUTABLE, _BLOCK, "allocate copyprivate firstprivate nowait private", ""),
    (
        "target",
        _EXECUTABLE,
        _BLOCK,
        "allocate defaultmap depend device firstprivate has_device_addr if in_reduction is_device_ptr map nowait "
        "private thread_limit uses_allocators",
        "",
    ),
    ("target data", _EXECUTABLE, _BLOCK, "device if map use_device_addr use_device_ptr", ""),
    ("target enter data", _EXECUTABLE, _NONE, "depend device if map nowait", ""),
    ("target exit data", _EXECUTABLE, _NONE, "depend device if map nowait", ""),
    ("target update", _EXECUTABLE, _NONE, "depend device from if nowait to", ""),
    (
        "task",
        _EXECUTABLE,
        _BLOCK,
        "affinity allocate default depend detach final firstprivate if in_reduction mergeable priority private "
        "shared untied",
        "",
    ),
    ("taskgroup", _EXECUTABLE, _BLOCK, "allocate task_reduction", ""),
    (
        "taskloop",
        _EXECUTABLE,
        _LOOP,
        "allocate collapse default final firstprivate grainsize if in_reduction lastprivate mergeable nogroup "
        "num_tasks priority private reduction shared untied",
        "",
    ),
    ("taskwait", _EXECUTABLE, _NONE, "depend nowait", ""),
    ("taskyield", _EXECUTABLE, _NONE, "", ""),
    (
        "teams",
        _EXECUTABLE,
        _BLOCK,
        "allocate default firstprivate num_teams private reduction shared thread_limit",
        "",
    ),
    ("threadprivate", _DECLARATIVE, _NONE, "", "list"),
    ("tile", _EXECUTABLE, _LOOP, "sizes", ""),
    ("unroll", _EXECUTABLE, _LOOP, "full partial", ""),
)

# What may follow a construct in a combined or composite name (OpenMP 5.2, 17.3).
_FOLLOWERS: Mapping[str, tuple[str, ...]] = {
    "distribute": ("parallel for", "simd"),
    "for": ("simd",),
    "masked": ("taskloop",),
    "master": ("taskloop",),
    "parallel": ("for", "loop", "masked", "master", "sections"),
    "target": ("parallel", "simd", "teams"),
    "taskloop": ("simd",),
    "teams": ("distribute", "loop"),
}

# Clauses of a leaf that a combined or composite construct does not take (17.2; 5.2, 11.5 and 10.4).
_EXCLUDED: tuple[tuple[str, str], ...] = (
    ("target", "copyin"),  # no thread has a threadprivate variable on the device to copy from
    ("distribute", "ordered"),
    ("distribute", "linear"),
)


# `target parallel` takes fewer followers than `parallel` alone.
_IN_TARGET = frozenset({"for", "loop"})


def _chains(name: str) -> Iterator[tuple[str, ...]]:
    """The leaves of every name that starts with this construct, the construct alone first."""
    words = tuple(name.split())
    yield words
    for follower in _FOLLOWERS.get(words[-1], ()):
        for rest in _chains(follower):
            yield (*words, *rest)


def _table() -> dict[str, DirectiveRule]:
    table = {
        name: DirectiveRule(name, category, association, frozenset(clauses.split()), argument, (name,))
        for name, category, association, clauses, argument in _LEAVES
    }
    for outer in _FOLLOWERS:
        for leaves in _chains(outer):
            if len(leaves) == 1 or (
                leaves[:2] == ("target", "parallel") and not _IN_TARGET.issuperset(leaves[2:3])
            ):
                continue
            name = " ".join(leaves)
            clauses = frozenset().union(*(table[leaf].clauses for leaf in leaves))
            clauses -= {clause for leaf, clause in _EXCLUDED if leaf in leaves}
            # The end of a region that starts with its threads is a barrier that nothing can take away.
            if "parallel" in leaves and "target" not in leaves:
                clauses -= {"nowait"}
            table[name] = DirectiveRule(name, _EXECUTABLE, table[leaves[-1]].association, clauses, "", leaves)
    return table


DIRECTIVES: Mapping[str, DirectiveRule] = MappingProxyType(_table())
"""Every directive by its canonical name."""

LONGEST_NAME = max(len(name.split()) for name in DIRECTIVES)
