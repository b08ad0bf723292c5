"""Inlining of device functions into a kernel, on PTX.

Definition: a direct call of a function that the module defines is replaced by the function's body under
fresh names; the parameter variables of the call become local memory of the thread. The source place of an
inlined instruction is extended by the place of the call. Calls that remain (recursion, indirect calls,
functions that the module only declares) are left in place for the engine to name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from racedart.shadow.ptx.model import (
    Address,
    Arguments,
    BranchTargets,
    CallPrototype,
    Function,
    Guard,
    Instruction,
    Label,
    Loc,
    Module,
    Negated,
    Operand,
    Pair,
    Register,
    Selected,
    Statement,
    Symbol,
    Variable,
    Vector,
)
from racedart.shadow.ptx.types import Type

LIMIT = 200_000
"""Statements of a kernel beyond which calls are left in place."""


def inline_calls(module: Module, kernel: Function) -> Function:
    """The kernel with the calls of defined functions inlined; itself if it has none."""
    if not any(isinstance(s, Instruction) and s.opcode == "call" for s in kernel.body or ()):
        return kernel
    inliner = _Inliner(module)
    inliner.registers.update(kernel.registers)
    own = {v.name for v in kernel.variables if v.space == "param"}
    inliner.variables.extend(_as_local(v) for v in kernel.variables)
    body = tuple(_in_local(s, own) for s in kernel.body or ())
    statements = tuple(inliner.expand(body, (kernel.name,)))
    return replace(kernel, body=statements, registers=inliner.registers, variables=tuple(inliner.variables))


def _as_local(variable: Variable) -> Variable:
    return replace(variable, space="local") if variable.space == "param" else variable


def _in_local(statement: Statement, names: set[str]) -> Statement:
    """A statement whose accesses of the named parameter variables are local accesses."""
    if not (isinstance(statement, Instruction) and statement.has("param")):
        return statement
    base = next((o.base for o in statement.operands if isinstance(o, Address)), None)
    if isinstance(base, Symbol) and base.name in names:
        modifiers = tuple("local" if m == "param" else m for m in statement.modifiers)
        return replace(statement, modifiers=modifiers)
    return statement


@dataclass
class _Inliner:
    module: Module
    registers: dict[str, Type] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    copies: int = 0
    size: int = 0

    def expand(self, body: tuple[Statement, ...], stack: tuple[str, ...]) -> Iterator[Statement]:
        for statement in body:
            self.size += 1
            target = self.target(statement)
            if target is None or target.name in stack or self.size > LIMIT:
                yield statement
            else:
                assert isinstance(statement, Instruction)
                yield from self.call(statement, target, stack)

    def target(self, statement: Statement) -> Function | None:
        """The defined function that a statement calls directly."""
        if not (isinstance(statement, Instruction) and statement.opcode == "call"):
            return None
        name = next((o.name for o in statement.operands if isinstance(o, Symbol)), "")
        function = self.module.functions.get(name)
        return function if function is not None and function.body is not None else None

    def call(self, call: Instruction, callee: Function, stack: tuple[str, ...]) -> Iterator[Statement]:
        self.copies += 1
        suffix = f"_call{self.copies}"
        returned, passed = _arguments(call)
        names: dict[str, Operand] = {}
        for variable, operand in zip((*callee.returns, *callee.params), (*returned, *passed), strict=False):
            if variable.space == "param":
                names[variable.name] = operand
        for variable in callee.variables:
            if variable.space != "shared":
                # Shared variables of a function exist once for a block, however often it is called.
                names[variable.name] = Symbol(variable.name + suffix)
                self.variables.append(replace(_as_local(variable), name=variable.name + suffix))
            elif variable not in self.variables:
                self.variables.append(variable)
        for name, type_ in callee.registers.items():
            names[name] = Register(name + suffix)
            self.registers[name + suffix] = type_
        local = {v.name for v in (*callee.params, *callee.returns, *callee.variables) if v.space == "param"}
        labels = {s.name for s in callee.body or () if isinstance(s, Label | BranchTargets | CallPrototype)}
        names |= {name: Symbol(name + suffix) for name in labels}

        def renamed(operand: Operand) -> Operand:
            return _renamed(operand, names)

        end = f"$call_end{suffix}"
        skip = f"$call_skip{suffix}"
        if call.guard is not None:
            inverse = Guard(call.guard.register, not call.guard.negated)
            yield replace(call, opcode="bra", modifiers=(), operands=(Symbol(skip),), guard=inverse)
        for variable, operand in zip(callee.params, passed, strict=False):
            if variable.space == "reg":
                yield _move(call, variable.type, Register(variable.name + suffix), operand)
        body = tuple(
            self.copied(_in_local(statement, local), renamed, suffix, end, call.loc)
            for statement in callee.body or ()
        )
        yield from self.expand(body, (*stack, callee.name))
        yield Label(end)
        for variable, operand in zip(callee.returns, returned, strict=False):
            if variable.space == "reg" and isinstance(operand, Register):
                yield _move(call, variable.type, operand, Register(variable.name + suffix))
        if call.guard is not None:
            yield Label(skip)

    def copied(
        self,
        statement: Statement,
        renamed: Callable[[Operand], Operand],
        suffix: str,
        end: str,
        called_at: Loc | None,
    ) -> Statement:
        match statement:
            case Label(name):
                return Label(name + suffix)
            case BranchTargets(name, labels):
                return BranchTargets(name + suffix, tuple(label + suffix for label in labels))
            case CallPrototype(name, text):
                return CallPrototype(name + suffix, text)
            case Instruction():
                guard = statement.guard
                if guard is not None:
                    register = renamed(guard.register)
                    assert isinstance(register, Register)
                    guard = Guard(register, guard.negated)
                loc = _called(statement.loc, called_at)
                if statement.opcode == "ret":
                    return replace(
                        statement, opcode="bra", modifiers=(), operands=(Symbol(end),), guard=guard, loc=loc
                    )
                return replace(statement, operands=tuple(map(renamed, statement.operands)), guard=guard, loc=loc)
        return statement


def _arguments(call: Instruction) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """The return and the input operands of a call."""
    lists = [o for o in call.operands if isinstance(o, Arguments)]
    if call.operands and isinstance(call.operands[0], Arguments):
        return lists[0].elements, lists[1].elements if len(lists) > 1 else ()
    return (), lists[0].elements if lists else ()


def _move(call: Instruction, type_: Type, target: Operand, source: Operand) -> Instruction:
    return Instruction("mov", (type_.name,), (target, source), None, call.loc, call.ptx_line)


def _called(loc: Loc | None, called_at: Loc | None) -> Loc | None:
    """The place, with the place of the call at the end of its chain."""
    if loc is None or called_at is None:
        return loc or called_at
    return replace(loc, inlined_at=_called(loc.inlined_at, called_at))


def _renamed(operand: Operand, names: dict[str, Operand]) -> Operand:
    match operand:
        case Register(name):
            return names.get(name, operand)
        case Symbol(name, offset) if name in names:
            target = names[name]
            return Symbol(target.name, target.offset + offset) if isinstance(target, Symbol) else target
        case Address(base, offset):
            renamed = _renamed(base, names)
            if isinstance(renamed, Symbol):
                return Address(Symbol(renamed.name), renamed.offset + offset)
            assert isinstance(renamed, Register) or renamed == base
            return Address(renamed, offset) if isinstance(renamed, Register) else operand
        case Negated(register):
            renamed = _renamed(register, names)
            assert isinstance(renamed, Register)
            return Negated(renamed)
        case Selected(register, part):
            renamed = _renamed(register, names)
            assert isinstance(renamed, Register)
            return Selected(renamed, part)
        case Vector(elements):
            return Vector(tuple(_renamed(e, names) for e in elements))
        case Arguments(elements):
            return Arguments(tuple(_renamed(e, names) for e in elements))
        case Pair(first, second):
            one, two = _renamed(first, names), _renamed(second, names)
            assert isinstance(one, Register)
            assert isinstance(two, Register)
            return Pair(one, two)
    return operand
