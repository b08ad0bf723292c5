"""What functions of the C and C++ libraries do with the memory that their arguments point to.

One row per function: for each argument (from 0) `r` reads, `w` writes and `n` gives the number of bytes; `3+`
means from that argument on. `must` functions write the whole of the n bytes. A function that is not listed reads
what a pointer to const leads to, and reads and writes what other pointers lead to. Allocation is here too:
the row says which arguments multiply to the size in bytes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effect:
    """Arguments that are read and written; size: arguments whose product is the number of bytes; must: all are.

    open_reads, open_writes: from this argument on, every pointer is read, or written. returns: the argument that
    is returned.
    """

    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    size: tuple[int, ...] = ()
    must: bool = False
    open_reads: int | None = None
    open_writes: int | None = None
    returns: int | None = None


COPY = Effect(reads=(1,), writes=(0,), size=(2,), must=True, returns=0)
PRINT = Effect(open_reads=0)
SCAN = Effect(reads=(0,), open_writes=1)
PURE = Effect()

EFFECTS: dict[str, Effect] = {
    "memcpy": COPY,
    "memmove": COPY,
    "memset": Effect(writes=(0,), size=(2,), must=True, returns=0),
    "bzero": Effect(writes=(0,), size=(1,), must=True),
    "memcmp": Effect(reads=(0, 1), size=(2,)),
    "strcpy": Effect(reads=(1,), writes=(0,), returns=0),
    "strncpy": Effect(reads=(1,), writes=(0,), size=(2,), returns=0),
    "strcat": Effect(reads=(0, 1), writes=(0,), returns=0),
    "strncat": Effect(reads=(0, 1), writes=(0,), returns=0),
    "strcmp": Effect(reads=(0, 1)),
    "strncmp": Effect(reads=(0, 1)),
    "strlen": Effect(reads=(0,)),
    "strchr": Effect(reads=(0,), returns=0),
    "strrchr": Effect(reads=(0,), returns=0),
    "strstr": Effect(reads=(0, 1), returns=0),
    "strtok": Effect(reads=(0, 1), writes=(0,), returns=0),
    "printf": PRINT,
    "fprintf": PRINT,
    "puts": PRINT,
    "fputs": PRINT,
    "perror": PRINT,
    "snprintf": Effect(writes=(0,), open_reads=2),
    "sprintf": Effect(writes=(0,), open_reads=1),
    "scanf": SCAN,
    "fscanf": Effect(reads=(1,), open_writes=2),
    "sscanf": Effect(reads=(0, 1), open_writes=2),
    "fread": Effect(writes=(0,), size=(1, 2)),
    "fwrite": Effect(reads=(0,), size=(1, 2)),
    "read": Effect(writes=(1,), size=(2,)),
    "write": Effect(reads=(1,), size=(2,)),
    "fgets": Effect(writes=(0,), size=(1,), returns=0),
    "getline": Effect(writes=(0, 1)),
    "gettimeofday": Effect(writes=(0,)),
    "clock_gettime": Effect(writes=(1,)),
    "time": Effect(writes=(0,)),
    "atoi": Effect(reads=(0,)),
    "atol": Effect(reads=(0,)),
    "atoll": Effect(reads=(0,)),
    "atof": Effect(reads=(0,)),
    "strtol": Effect(reads=(0,), writes=(1,)),
    "strtoul": Effect(reads=(0,), writes=(1,)),
    "strtod": Effect(reads=(0,), writes=(1,)),
    "strtof": Effect(reads=(0,), writes=(1,)),
    "qsort": Effect(reads=(0,), writes=(0,)),
    "modf": Effect(writes=(1,)),
    "frexp": Effect(writes=(1,)),
    "sincos": Effect(writes=(1, 2)),
    "sincosf": Effect(writes=(1, 2)),
    "getenv": Effect(reads=(0,)),
    "fopen": Effect(reads=(0, 1)),
    "fclose": PURE,
    "fflush": PURE,
    "feof": PURE,
    "exit": PURE,
    "abort": PURE,
    "srand": PURE,
    "rand": PURE,
    "omp_get_wtime": PURE,
}

ALLOCATORS: dict[str, tuple[int, ...]] = {
    "malloc": (0,),
    "calloc": (0, 1),
    "realloc": (1,),
    "aligned_alloc": (1,),
    "memalign": (1,),
    "_mm_malloc": (0,),
    "valloc": (0,),
}
"""Functions that return new memory: the arguments whose product is its size in bytes."""

DEFINED = frozenset({"calloc", "realloc"})
"""Allocators whose memory has a value."""

RELEASES = frozenset({"free", "_mm_free", "cfree"})
ENDS = frozenset({"exit", "abort", "_exit", "quick_exit", "terminate"})
"""Functions that do not return."""
