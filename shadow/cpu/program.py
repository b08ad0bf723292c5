"""A kernel made ready to run: parsed, planned, translated, compiled, with the layout of its variables."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import llvmlite.binding as llvm
from racedart.finding.errors import InputError
from racedart.shadow.cpu import runtime
from racedart.shadow.cpu.cache import cached_bytes, fingerprint
from racedart.shadow.cpu.layout import ALIGNMENT, ARENA, GUARD
from racedart.shadow.cpu.translate import Translation, translate
from racedart.shadow.instrument.blocks import blocks_are_independent
from racedart.shadow.instrument.grids import called
from racedart.shadow.instrument.plan import Plan, make_plan
from racedart.shadow.outcome import Mode
from racedart.shadow.ptx.inline import inline_calls
from racedart.shadow.ptx.model import Instruction, Loc, Module, Statement, Variable
from racedart.shadow.ptx.parser import parse_module

BIG_KERNEL = 2000
"""From this many instructions on, code is compiled with less optimisation, to keep compile time in bounds."""
INLINED = 48
"""Up to this many calls of the checker it is inlined into a kernel; beyond, code would grow too large."""


@dataclass(frozen=True, eq=False)
class Program:
    """A kernel with its plan, its machine code and the places of its variables; equal to itself alone.

    module_offsets: variable -> byte offset in the arena. shared_offsets: variable -> offset in shared memory.
    static_shared: bytes of the static arrays, at whose aligned end dynamic shared memory begins.
    local_bytes: local memory of one thread. param_offsets: offset of each parameter, in order.
    independent: blocks cannot observe each other without an alarm of the checker. prints: it calls printf.
    """

    module: Module
    plan: Plan
    translation: Translation
    module_offsets: Mapping[str, int]
    module_bytes: int
    shared_offsets: Mapping[str, int]
    static_shared: int
    local_bytes: int
    param_offsets: tuple[int, ...]
    param_bytes: int
    independent: bool
    prints: bool
    engine: Any
    step: int


@functools.lru_cache(maxsize=64)
def read_kernel(ptx: str, entry: str, path: str = "") -> tuple[Module, Plan]:
    """A PTX module and the plan of one of its kernels; path: its file, whose lines stand for missing ones.

    Raises InputError when the PTX cannot be read or has no such entry.
    """
    module = parse_module(ptx)
    if entry not in module.kernels:
        known = ", ".join(sorted(module.kernels)) or "none"
        raise InputError(f"the PTX has no kernel {entry!r}; its kernels: {known}")
    if path and not _has_lines(module):
        module = _numbered(module, path)
    function = inline_calls(module, module.kernels[entry])
    return module, make_plan(function)


@functools.lru_cache(maxsize=64)
def load_program(ptx: str, entry: str, mode: Mode, path: str = "", proved: frozenset[int] = frozenset()) -> Program:
    """Compile a kernel of a PTX module; proved: sites that are not to be checked.

    Raises what `read_kernel` raises.
    """
    module, plan = read_kernel(ptx, entry, path)
    plan = plan.without_checks(proved)
    function = plan.function

    module_offsets, module_bytes = module_layout(module)
    shared = [v for v in (*module.variables, *function.variables) if v.space == "shared"]
    static = [v for v in shared if v.size]
    shared_offsets, static_shared = _laid_out(static)
    dynamic_start = _aligned(static_shared, max([16, *(v.alignment for v in shared if not v.size)]))
    shared_offsets |= {v.name: dynamic_start for v in shared if not v.size}
    local_offsets, local_bytes = _laid_out([v for v in function.variables if v.space == "local"])
    # Variables of parameters that no call uses; those of calls are local memory by now.
    own, own_bytes = _laid_out(list(function.params))
    call_offsets, param_bytes = _laid_out([v for v in function.variables if v.space == "param"], start=own_bytes)

    symbols = {name: ARENA + offset for name, offset in module_offsets.items()}
    symbols |= shared_offsets | local_offsets | own | call_offsets
    translation = translate(plan, symbols, has_shared=bool(shared))
    big = len(plan.graph.instructions) >= BIG_KERNEL
    engine = runtime.loaded(_machine_code(translation.ir, mode, big))
    return Program(
        module,
        plan,
        translation,
        module_offsets,
        module_bytes,
        shared_offsets,
        dynamic_start if any(not v.size for v in shared) else static_shared,
        _aligned(local_bytes, 16),
        tuple(own[v.name] for v in function.params),
        _aligned(param_bytes, 16),
        # The published machine misses races, so that the absence of an alarm proves nothing.
        mode == "exact" and blocks_are_independent(plan),
        any(called(instruction) == "vprintf" for instruction in plan.graph.instructions),
        engine,
        engine.get_function_address("racedart_step"),
    )


def module_layout(module: Module) -> tuple[dict[str, int], int]:
    """Byte offset of each variable of a module in the arena, and the end of the last."""
    placed = [v for v in module.variables if v.space in {"global", "const"}]
    return _laid_out(placed, start=GUARD, gap=GUARD, least=ALIGNMENT)


def _has_lines(module: Module) -> bool:
    statements = (s for f in module.functions.values() for s in f.body or ())
    return any(isinstance(s, Instruction) and s.loc is not None for s in statements)


def _numbered(module: Module, path: str) -> Module:
    """The module with the lines of its own text as places."""

    def placed(statement: Statement) -> Statement:
        if isinstance(statement, Instruction):
            return replace(statement, loc=Loc(1, statement.ptx_line, 0))
        return statement

    functions = {
        name: replace(f, body=None if f.body is None else tuple(map(placed, f.body)))
        for name, f in module.functions.items()
    }
    return replace(module, functions=functions, files={1: path})


def _machine_code(ir: str, mode: Mode, big: bool) -> bytes:
    """The object file of a kernel, from the user's cache if it was compiled before."""
    # A vector access makes a check for each granule, so that accesses alone do not bound the size of the code.
    inlined = ir.count("call void @racedart_check(") <= INLINED
    key = fingerprint(ir, runtime.helpers(mode), runtime.host(), f"{big} {inlined}")
    return cached_bytes("kernel", key, lambda: _compiled(ir, mode, big, inlined))


def _compiled(ir: str, mode: Mode, big: bool, inlined: bool) -> bytes:
    declarations = (
        "declare void @racedart_check(i64, i64, i64, i64, i64, i64)\n"
        "declare i64 @racedart_locate(i64, i64, i64, i64)\n"
        "declare i64 @racedart_fault(i64, i64, i64, i64)\n"
        "declare i64 @racedart_printed(i64, i64, i64, i64)\n"
        "declare void @racedart_uninitialised(i64, i64, i64)\n"
    )
    try:
        module = llvm.parse_assembly(declarations + ir)
        module.verify()
    except RuntimeError as error:
        first = str(error).splitlines()[0]
        raise InputError(f"the PTX is not well formed: its types do not fit ({first})") from error
    module.link_in(llvm.parse_assembly(runtime.helpers(mode)))
    runtime.hide_all_but(module, {"racedart_step"})
    runtime.set_inlining(module, inlined)
    return runtime.object_code(module, 1 if big else 2)


def _aligned(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def _laid_out(
    variables: list[Variable], start: int = 0, gap: int = 0, least: int = 1
) -> tuple[dict[str, int], int]:
    """Offsets of variables placed one behind the other, and the end of the last, gap included."""
    offsets: dict[str, int] = {}
    at = start
    for variable in variables:
        at = _aligned(at, max(variable.alignment, least))
        offsets[variable.name] = at
        at += variable.size + gap
    return offsets, at
