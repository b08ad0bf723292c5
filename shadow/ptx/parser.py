"""PTX text -> Module: a recursive-descent parser of modules, declarations and statements.

Source: PTX ISA, chapters 4 (syntax), 5 (variables), 7 (functions), 11 (directives). Instruction operands
are parsed by form, not by opcode, so that an unknown instruction still parses and can be named later.
Not handled: alternative `.alias` targets, `.weak` merging, DWARF contents (debug sections are skipped).
"""

from __future__ import annotations

import functools
import re
import struct
from dataclasses import dataclass, field

from racedart.shadow.ptx.model import (
    Address,
    Arguments,
    BranchTargets,
    CallPrototype,
    Composite,
    Function,
    Guard,
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
from racedart.shadow.ptx.tokens import PtxSyntaxError, Token, tokenize
from racedart.shadow.ptx.types import TYPES, Type

_LINKAGE = {".extern", ".visible", ".weak", ".common"}
_SELECTOR = re.compile(r"b[0-7]{1,4}|h[0-3]{1,2}")
_SPACES = {".global", ".const", ".shared", ".local", ".param", ".reg", ".tex"}
_TUNING = {
    ".maxnreg",
    ".maxntid",
    ".reqntid",
    ".minnctapersm",
    ".maxnctapersm",
    ".noreturn",
    ".pragma",
    ".abi_preserve",
    ".abi_preserve_control",
    ".reqnctapercluster",
    ".explicitcluster",
    ".maxclusterrank",
    ".unified",
    ".blocksareclusters",
}


@functools.lru_cache(maxsize=16)
def parse_module(text: str) -> Module:
    """Parse PTX text; equal texts give the same module, since front ends and the engine each ask for it.

    Raises PtxSyntaxError (an InputError) naming the line of the PTX text that cannot be read.
    """
    return _Parser(tokenize(text)).module()


@dataclass
class _Scope:
    """Names declared in one `{ }` of a body, mapped to their unique names in the function."""

    names: dict[str, str] = field(default_factory=dict)
    ranges: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class _Body:
    """A function body while it is read."""

    registers: dict[str, Type] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    scopes: list[_Scope] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    scope_count: int = 0
    loc: Loc | None = None
    places: dict[tuple[int, int, int], Loc] = field(default_factory=dict)


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.body = _Body()
        self.strings: dict[str, str] = {}

    # Tokens

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def next(self) -> Token:
        token = self.tokens[self.at]
        self.at += token.kind != "end"
        return token

    def accept(self, text: str) -> bool:
        if self.token.text == text and self.token.kind != "string":
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        token = self.next()
        if token.text != text:
            raise self.error(f"found {_shown(token)} where {text!r} should stand", token)
        return token

    def name(self) -> str:
        token = self.next()
        if token.kind != "name":
            raise self.error(f"found {_shown(token)} where a name should stand", token)
        return token.text

    def integer(self) -> int:
        sign = -1 if self.accept("-") else 1
        token = self.next()
        if token.kind != "int":
            raise self.error(f"found {_shown(token)} where an integer should stand", token)
        return sign * _int(token.text)

    def error(self, message: str, token: Token | None = None) -> PtxSyntaxError:
        return PtxSyntaxError(message, (token or self.token).line)

    # Modules

    def module(self) -> Module:
        version, address_size = "", 64
        target: tuple[str, ...] = ()
        variables: list[Variable] = []
        functions: dict[str, Function] = {}
        files: dict[int, str] = {}
        self.strings = self.debug_strings()
        while self.token.kind != "end":
            word = self.token.text
            if word == ".version":
                self.next()
                version = self.next().text
            elif word == ".target":
                self.next()
                target = self.name_list()
            elif word == ".address_size":
                self.next()
                address_size = self.integer()
            elif word == ".file":
                index, path = self.file()
                files[index] = path
            elif word in {".section", "@@DWARF"} or word.startswith(".debug"):
                self.skip_section()
            elif word == ".alias":
                while not self.accept(";"):
                    self.next()
            elif word in {".entry", ".func"} or word in _LINKAGE or word in _SPACES:
                linkage = self.linkage()
                if self.token.text in {".entry", ".func"}:
                    function = self.function(linkage)
                    if function.body is not None or function.name not in functions:
                        functions[function.name] = function
                else:
                    variables.extend(self.declaration(linkage))
            elif word in {".pragma", ".callprototype"}:
                while not self.accept(";"):
                    self.require_more("directive")
            elif not self.accept(";"):
                raise self.error(f"found {_shown(self.token)} where a directive should stand")
        if not version:
            raise PtxSyntaxError("no .version directive: this is not a PTX module", 1)
        if address_size != 64:
            raise PtxSyntaxError(f".address_size {address_size}: only 64-bit PTX is supported", 1)
        return Module(version, target, address_size, tuple(variables), functions, files)

    def require_more(self, what: str) -> Token:
        token = self.next()
        if token.kind == "end":
            raise self.error(f"the text ends inside a {what}", token)
        return token

    def name_list(self) -> tuple[str, ...]:
        names = [self.name()]
        while self.accept(","):
            names.append(self.name())
        return tuple(names)

    def file(self) -> tuple[int, str]:
        self.expect(".file")
        index = self.integer()
        path = self.require_more("file name").text
        while self.accept(","):
            self.integer()
        return index, path[1:-1].replace("\\\\", "\\")

    def debug_strings(self) -> dict[str, str]:
        """The labelled strings of `.section .debug_str`, which inlined `.loc` directives name."""
        strings: dict[str, str] = {}
        start = next(
            (
                i
                for i, token in enumerate(self.tokens)
                if token.text == ".debug_str" and self.tokens[i - 1].text == ".section"
            ),
            None,
        )
        if start is None:
            return strings
        label, data = "", bytearray()
        for token, after in zip(self.tokens[start + 2 :], self.tokens[start + 3 :], strict=False):
            if token.text == "}":
                break
            if token.kind == "name" and after.text == ":":
                label, data = token.text, bytearray()
            elif token.kind == "int":
                byte = _int(token.text) & 0xFF
                if byte and label:
                    data.append(byte)
                elif label:
                    strings[label] = data.decode("utf-8", "replace")
                    label = ""
        return strings

    def skip_section(self) -> None:
        self.next()
        while not self.accept("{"):
            self.require_more("section")
        while not self.accept("}"):
            self.require_more("section")

    def linkage(self) -> tuple[str, ...]:
        words = []
        while self.token.text in _LINKAGE:
            words.append(self.next().text[1:])
        return tuple(words)

    # Variables

    def declaration(self, linkage: tuple[str, ...], *, until: str = ";") -> list[Variable]:
        """One declaration statement: several variables may share its space and type."""
        space = self.name()
        if space not in _SPACES:
            raise self.error(f"unknown state space {space!r}")
        variables = []
        prefix = self.declaration_prefix()
        while True:
            variables.append(self.declarator(space[1:], linkage, prefix))
            if not (until == ";" and self.accept(",")):
                break
        if until == ";":
            self.expect(";")
        return variables

    def declaration_prefix(self) -> tuple[Type, int, int, tuple[str, ...]]:
        align, lanes, attributes = 0, 1, []
        while True:
            word = self.name()
            if word == ".align":
                align = self.integer()
            elif word in {".v2", ".v4", ".v8"}:
                lanes = int(word[2:])
            elif word == ".attribute":
                self.expect("(")
                text = []
                while not self.accept(")"):
                    text.append(self.require_more("attribute").text)
                attributes.append("".join(text))
            elif word == ".ptr":
                # `.ptr .space .align N` describes what a parameter points to; it changes no layout.
                if self.token.text in _SPACES:
                    self.next()
                if self.accept(".align"):
                    self.integer()
                return TYPES["u64"], align, lanes, tuple(attributes)
            elif word[1:] in TYPES and word[0] == ".":
                type_ = TYPES[word[1:]]
                if self.token.text == ".ptr":
                    continue
                return type_, align, lanes, tuple(attributes)
            else:
                raise self.error(f"unknown type {word!r}")

    def declarator(
        self, space: str, linkage: tuple[str, ...], prefix: tuple[Type, int, int, tuple[str, ...]]
    ) -> Variable:
        type_, align, lanes, attributes = prefix
        name = self.name()
        count, is_array = lanes, False
        while self.accept("["):
            is_array = True
            if self.accept("]"):
                count = 0
            else:
                count *= self.integer()
                self.expect("]")
        initial: tuple[Immediate | Symbol, ...] = ()
        if self.accept("="):
            initial = tuple(self.initializer())
            if is_array and count == 0:
                count = len(initial)
        if lanes > 1 and not align:
            align = type_.bytes * lanes
        return Variable(name, space, type_, count, align, is_array, linkage, initial, attributes)

    def initializer(self) -> list[Immediate | Symbol]:
        if self.accept("{"):
            values: list[Immediate | Symbol] = []
            while not self.accept("}"):
                values.extend(self.initializer())
                self.accept(",")
            return values
        if self.token.kind == "name":
            name = self.name()
            if name == "generic":
                self.expect("(")
                name = self.name()
                self.expect(")")
            offset = self.offset()
            return [Symbol(name, offset)]
        return [self.immediate()]

    def offset(self) -> int:
        total = 0
        while self.token.text in {"+", "-"}:
            sign = -1 if self.next().text == "-" else 1
            total += sign * self.integer()
        return total

    # Functions

    def function(self, linkage: tuple[str, ...]) -> Function:
        kind = self.name()
        returns: tuple[Variable, ...] = ()
        if kind == ".func" and self.token.text == ".attribute":
            while not self.accept(")"):
                self.require_more("attribute")
        if kind == ".func" and self.token.text == "(":
            returns = self.parameters()
        name = self.name()
        params = self.parameters() if self.token.text == "(" else ()
        tuning = []
        while self.token.text in _TUNING:
            words = [self.next().text]
            while self.token.kind in {"int", "string"} or self.token.text == ",":
                words.append(self.next().text)
            tuning.append(" ".join(words))
            self.accept(";")
        self.body = _Body()
        for variable in (*params, *returns):
            self.body.taken.add(variable.name)
            if variable.space == "reg":
                self.body.registers[variable.name] = variable.type
        if self.accept(";"):
            return self.made(name, kind, params, returns, None, linkage, tuning)
        start = self.expect("{")
        self.block(start)
        return self.made(name, kind, params, returns, tuple(self.body.statements), linkage, tuning)

    def made(
        self,
        name: str,
        kind: str,
        params: tuple[Variable, ...],
        returns: tuple[Variable, ...],
        statements: tuple[Statement, ...] | None,
        linkage: tuple[str, ...],
        tuning: list[str],
    ) -> Function:
        body = self.body
        return Function(
            name,
            "entry" if kind == ".entry" else "func",
            params,
            returns,
            statements,
            body.registers,
            tuple(body.variables),
            linkage,
            tuple(tuning),
        )

    def parameters(self) -> tuple[Variable, ...]:
        self.expect("(")
        params: list[Variable] = []
        while not self.accept(")"):
            params.extend(self.declaration((), until=","))
            if not self.accept(",") and self.token.text != ")":
                raise self.error(f"found {_shown(self.token)} in a parameter list")
        return tuple(params)

    # Bodies

    def block(self, start: Token) -> None:
        depth = 1
        self.open_scope()
        while depth:
            token = self.token
            if token.kind == "end":
                raise self.error("the text ends inside a function body", start)
            if self.accept("{"):
                depth += 1
                self.open_scope()
            elif self.accept("}"):
                depth -= 1
                self.body.scopes.pop()
            else:
                self.statement()

    def open_scope(self) -> None:
        self.body.scopes.append(_Scope())
        self.body.scope_count += 1

    def declare(self, name: str) -> str:
        """Declare a name in the innermost scope and give the one it has in the flat function."""
        body = self.body
        unique = name
        if name in body.taken:
            unique = f"{name}_s{body.scope_count}"
            while unique in body.taken:
                unique += "_"
        body.taken.add(unique)
        body.scopes[-1].names[name] = unique
        return unique

    def resolve(self, name: str) -> str:
        for scope in reversed(self.body.scopes):
            if name in scope.names:
                return scope.names[name]
            for prefix, unique in scope.ranges:
                if name.startswith(prefix) and name[len(prefix) :].isdigit():
                    return unique + name[len(prefix) :]
        return name

    def statement(self) -> None:
        body = self.body
        word = self.token.text
        if self.accept(";"):
            return
        if word == ".loc":
            body.loc = self.loc()
        elif word == ".reg":
            self.registers()
        elif word in _SPACES or word in _LINKAGE:
            for variable in self.declaration(self.linkage()):
                unique = self.declare(variable.name)
                body.variables.append(
                    Variable(
                        unique,
                        variable.space,
                        variable.type,
                        variable.count,
                        variable.align,
                        variable.is_array,
                        variable.linkage,
                        variable.initial,
                        variable.attributes,
                    )
                )
        elif word == ".pragma":
            self.next()
            body.statements.append(Pragma(f".pragma {self.require_more('pragma').text};"))
            self.expect(";")
        elif word == ".file":
            raise self.error("a .file directive cannot stand in a function body")
        elif self.token.kind == "name" and self.tokens[self.at + 1].text == ":":
            self.label()
        elif self.token.kind == "name" or word == "@":
            body.statements.append(self.instruction())
        else:
            raise self.error(f"found {_shown(self.token)} where a statement should stand")

    def label(self) -> None:
        name = self.name()
        self.expect(":")
        if self.token.text == ".branchtargets":
            self.next()
            labels = [self.name()]
            while self.accept(","):
                labels.append(self.name())
            self.expect(";")
            self.body.statements.append(BranchTargets(name, tuple(labels)))
        elif self.token.text in {".callprototype", ".calltargets"}:
            text = []
            while not self.accept(";"):
                text.append(self.require_more("call prototype").text)
            self.body.statements.append(CallPrototype(name, " ".join(text)))
        else:
            self.body.statements.append(Label(self.declare(name) if len(self.body.scopes) > 1 else name))

    def loc(self) -> Loc:
        self.expect(".loc")
        file, line, column = self.integer(), self.integer(), self.integer()
        function, inlined_at = "", None
        while self.accept(","):
            word = self.name()
            if word == "function_name":
                function = self.strings.get(self.name(), "")
                self.offset()
            elif word == "inlined_at":
                inlined_at = Loc(self.integer(), self.integer(), self.integer())
            else:
                raise self.error(f"unknown .loc attribute {word!r}")
        # An inlined `.loc` names only its immediate call site; the caller's own frame is the last
        # `.loc` seen there, which may itself be inlined: in the chain of the one before, or anywhere above.
        if inlined_at is not None:
            site = (inlined_at.file, inlined_at.line, inlined_at.column)
            previous = self.body.loc
            while previous is not None and (previous.file, previous.line, previous.column) != site:
                previous = previous.inlined_at
            inlined_at = previous or self.body.places.get(site, inlined_at)
        found = Loc(file, line, column, function, inlined_at)
        self.body.places[file, line, column] = found
        return found

    def registers(self) -> None:
        self.expect(".reg")
        type_, _, lanes, _ = self.declaration_prefix()
        while True:
            name = self.name()
            if self.accept("<"):
                count = self.integer()
                self.expect(">")
                clash = any(f"{name}{i}" in self.body.taken for i in range(count))
                unique = f"{name}s{self.body.scope_count}_" if clash else name
                self.body.scopes[-1].ranges.append((name, unique))
                for i in range(count):
                    self.body.taken.add(f"{unique}{i}")
                    self.body.registers[f"{unique}{i}"] = type_
            else:
                unique = self.declare(name)
                if lanes == 1:
                    self.body.registers[unique] = type_
                else:
                    for suffix in "xyzw"[:lanes]:
                        self.body.registers[f"{unique}.{suffix}"] = type_
            if not self.accept(","):
                break
        self.expect(";")

    # Instructions

    def instruction(self) -> Instruction:
        guard = None
        line = self.token.line
        if self.accept("@"):
            negated = self.accept("!")
            guard = Guard(Register(self.resolve(self.name())), negated)
        opcode, *modifiers = self.name().split(".")
        if not opcode:
            raise self.error(f"unknown directive {'.' + '.'.join(modifiers)!r} in a function body")
        operands: list[Operand] = []
        while not self.accept(";"):
            if self.token.kind == "end":
                raise self.error("the text ends inside an instruction")
            operands.append(self.operand())
            if self.accept(","):
                if self.token.text == ";":
                    raise self.error(f"found ';' where an operand of {opcode} should stand")
            elif self.token.text != ";":
                raise self.error(f"found {_shown(self.token)} after an operand of {opcode}")
        return Instruction(opcode, tuple(modifiers), tuple(operands), guard, self.body.loc, line)

    def operand(self) -> Operand:
        token = self.token
        if self.accept("["):
            return self.address()
        if self.accept("{"):
            return Vector(self.operands_until("}"))
        if self.accept("("):
            return Arguments(self.operands_until(")"))
        if self.accept("!"):
            return Negated(Register(self.resolve(self.name())))
        if token.kind in {"int", "float"} or token.text in {"-", "+"}:
            return self.immediate()
        if token.kind != "name":
            raise self.error(f"found {_shown(token)} where an operand should stand")
        base, _, part = token.text.rpartition(".")
        if base and _SELECTOR.fullmatch(part) and self.is_register(self.resolve(base)):
            self.next()
            return Selected(Register(self.resolve(base)), part)
        name = self.resolve(self.name())
        if self.accept("|"):
            return Pair(Register(name), Register(self.resolve(self.name())))
        if self.is_register(name):
            return Register(name)
        return Symbol(name, self.offset())

    def is_register(self, name: str) -> bool:
        return name in self.body.registers or name == "_" or (name.startswith("%") and name not in TYPES)

    def operands_until(self, end: str) -> tuple[Operand, ...]:
        elements: list[Operand] = []
        while not self.accept(end):
            elements.append(self.operand())
            if not self.accept(",") and self.token.text != end:
                raise self.error(f"found {_shown(self.token)} in a list of operands")
        return tuple(elements)

    def address(self) -> Address | Composite:
        start = self.at
        base: Register | Symbol | Immediate
        if self.token.kind == "int":
            base = Immediate(self.integer())
        else:
            name = self.resolve(self.name())
            base = Register(name) if self.is_register(name) else Symbol(name)
        offset = self.offset()
        if self.accept("]"):
            return Address(base, offset)
        depth = 1
        while depth:
            text = self.require_more("address").text
            depth += (text == "[") - (text == "]")
        return Composite("[" + " ".join(token.text for token in self.tokens[start : self.at]))

    def immediate(self) -> Immediate:
        negative = False
        while self.token.text in {"-", "+"}:
            negative ^= self.next().text == "-"
        token = self.next()
        text = token.text
        if token.kind == "int":
            value = _int(text)
            return Immediate(-value if negative else value)
        if token.kind != "float":
            raise self.error(f"found {_shown(token)} where a number should stand", token)
        if text[1:2] in {"f", "F"}:
            bits, width = int(text[2:], 16), 32
        elif text[1:2] in {"d", "D"} and text[0] == "0":
            bits, width = int(text[2:], 16), 64
        else:
            bits, width = struct.unpack("<Q", struct.pack("<d", float(text)))[0], 64
        if negative:
            bits ^= 1 << (width - 1)
        return Immediate(bits, width)


def _int(text: str) -> int:
    text = text.rstrip("U")
    if len(text) > 1 and text[0] == "0" and text[1].isdigit():
        return int(text, 8)
    return int(text, 0)


def _shown(token: Token) -> str:
    return "the end of the text" if token.kind == "end" else repr(token.text)
