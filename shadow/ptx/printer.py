"""Module -> PTX text that assembles to the same machine code as the text it was parsed from.

Debug sections are not kept: a `.loc` of an inlined place is written without its call site.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from racedart.shadow.ptx.model import (
    Address,
    Arguments,
    BranchTargets,
    CallPrototype,
    Composite,
    Function,
    Immediate,
    Instruction,
    Label,
    Loc,
    Module,
    Negated,
    Operand,
    Pair,
    Pragma,
    Register,
    Selected,
    Statement,
    Symbol,
    Variable,
    Vector,
)


def print_module(module: Module) -> str:
    """The module as PTX text, with a newline at its end."""
    lines = [
        f".version {module.version}",
        f".target {', '.join(module.target)}",
        f".address_size {module.address_size}",
    ]
    lines += [f"{print_variable(variable)};" for variable in module.variables]
    for function in module.functions.values():
        lines.append("")
        lines += _function(function, known_files=frozenset(module.files))
    lines += [f'.file {index} "{_escaped(path)}"' for index, path in module.files.items()]
    return "\n".join(lines) + "\n"


def print_functions(functions: Iterable[Function]) -> str:
    """Functions as PTX text without places, with a newline at its end."""
    return "\n".join(line for function in functions for line in _function(function, frozenset())) + "\n"


def print_instruction(instruction: Instruction) -> str:
    """One instruction as text, without its semicolon."""
    guard = ""
    if instruction.guard is not None:
        guard = f"@{'!' if instruction.guard.negated else ''}{instruction.guard.register.name} "
    operands = ", ".join(print_operand(operand) for operand in instruction.operands)
    return f"{guard}{instruction.name} {operands}".rstrip()


def print_statement(statement: Statement) -> str:
    """One statement of a body, indented, without its place."""
    match statement:
        case Label(name):
            return f"{name}:"
        case Pragma(text):
            return f"\t{text}"
        case BranchTargets(name, labels):
            return f"{name}: .branchtargets {', '.join(labels)};"
        case CallPrototype(name, text):
            return f"{name}: {text};"
        case Instruction():
            return f"\t{print_instruction(statement)};"


def print_operand(operand: Operand) -> str:
    """One operand as text."""
    match operand:
        case Register(name):
            return name
        case Immediate(value, width):
            return f"0{'f' if width == 32 else 'd'}{value:0{width // 4}X}" if width else str(value)
        case Symbol(name, offset):
            return name + _offset(offset)
        case Address(base, offset):
            return f"[{print_operand(base)}{_offset(offset)}]"
        case Vector(elements):
            return "{" + ", ".join(map(print_operand, elements)) + "}"
        case Arguments(elements):
            return "(" + ", ".join(map(print_operand, elements)) + ")"
        case Negated(register):
            return f"!{register.name}"
        case Selected(register, part):
            return f"{register.name}.{part}"
        case Pair(first, second):
            return f"{first.name}|{second.name}"
        case Composite(text):
            return text


def print_variable(variable: Variable) -> str:
    """A declaration without its semicolon."""
    words = [f".{word}" for word in variable.linkage]
    words.append(f".{variable.space}")
    words += [f".attribute({text})" for text in variable.attributes]
    if variable.align:
        words.append(f".align {variable.align}")
    words.append(f".{variable.type.name}")
    size = ""
    if variable.is_array or variable.count != 1:
        size = f"[{variable.count}]" if variable.count else "[]"
    words.append(variable.name + size)
    text = " ".join(words)
    if variable.initial:
        values = ", ".join(print_operand(value) for value in variable.initial)
        text += f" = {{{values}}}" if size else f" = {values}"
    return text


def _offset(offset: int) -> str:
    return f"+{offset}" if offset else ""


def _escaped(path: str) -> str:
    return path.replace("\\", "\\\\")


def _function(function: Function, known_files: frozenset[int]) -> Iterator[str]:
    head = "".join(f".{word} " for word in function.linkage) + f".{function.kind} "
    if function.returns:
        head += "(" + ", ".join(map(print_variable, function.returns)) + ") "
    yield f"{head}{function.name}("
    yield ",\n".join(f"\t{print_variable(param)}" for param in function.params)
    yield ")"
    yield from (f"{directive};" if directive.startswith(".pragma") else directive for directive in function.tuning)
    if function.body is None:
        yield ";"
        return
    yield "{"
    declared = {variable.name for variable in (*function.params, *function.returns)}
    for name, type_ in function.registers.items():
        if name not in declared and "." not in name:
            yield f"\t.reg .{type_.name} {name};"
    for variable in function.variables:
        yield f"\t{print_variable(variable)};"
    loc: Loc | None = None
    for statement in function.body:
        if isinstance(statement, Instruction) and statement.loc not in (None, loc):
            loc = statement.loc
            if loc is not None and loc.file in known_files:
                yield f"\t.loc {loc.file} {loc.line} {loc.column}"
        yield print_statement(statement)
    yield "}"
