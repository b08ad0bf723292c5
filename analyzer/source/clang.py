"""libclang to tree.Program.

Parses without -fopenmp, because libclang does not show the body of a directive otherwise, and with _OPENMP
defined; directives are read from the text by racedart.analyzer.pragma and attached here to the statement that
follows. A directive inside code that the preprocessor skipped is left alone. Headers that are missing, and other
errors, are kept in Program.errors and do not end the parse.

Compiler headers: those of an installed clang (`clang -print-resource-dir`) or else of gcc; omp.h is ours, since
clang's needs -fopenmp. Only functions of user files have bodies; a template is represented by its instantiations.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clang import cindex
from racedart.analyzer.pragma import Association, Directive, Malformed, find_pragmas, parse_pragma
from racedart.analyzer.source.tree import Field, Function, Node, Program, SourceFile, Type, Variable
from racedart.finding.errors import InputError

BINARY = [
    "?",
    ".*",
    "->*",
    "*",
    "/",
    "%",
    "+",
    "-",
    "<<",
    ">>",
    "<=>",
    "<",
    ">",
    "<=",
    ">=",
    "==",
    "!=",
    "&",
    "^",
    "|",
    "&&",
    "||",
    "=",
    "*=",
    "/=",
    "%=",
    "+=",
    "-=",
    "<<=",
    ">>=",
    "&=",
    "^=",
    "|=",
    ",",
]
UNARY = ("?", "p++", "p--", "++", "--", "&", "*", "+", "-", "~", "!", "real", "imag", "ext", "await")
TRANSPARENT = {"UNEXPOSED_EXPR", "PAREN_EXPR", "UNEXPOSED_STMT"}
CASTS = {
    "CSTYLE_CAST_EXPR",
    "CXX_STATIC_CAST_EXPR",
    "CXX_REINTERPRET_CAST_EXPR",
    "CXX_CONST_CAST_EXPR",
    "CXX_DYNAMIC_CAST_EXPR",
    "CXX_FUNCTIONAL_CAST_EXPR",
}
FUNCTIONS = {"FUNCTION_DECL", "CXX_METHOD", "CONSTRUCTOR", "DESTRUCTOR", "CONVERSION_FUNCTION"}
SCOPES = {"NAMESPACE", "CLASS_DECL", "STRUCT_DECL", "UNION_DECL", "LINKAGE_SPEC", "UNEXPOSED_DECL"}
REFERENCES = {"TYPE_REF", "NAMESPACE_REF", "TEMPLATE_REF", "OVERLOADED_DECL_REF", "LABEL_REF"}
SCALARS = {
    "BOOL", "CHAR_U", "UCHAR", "CHAR16", "CHAR32", "USHORT", "UINT", "ULONG", "ULONGLONG", "UINT128", "CHAR_S",
    "SCHAR", "WCHAR", "SHORT", "INT", "LONG", "LONGLONG", "INT128", "FLOAT", "DOUBLE", "LONGDOUBLE", "HALF",
    "FLOAT16", "FLOAT128", "ENUM", "COMPLEX", "NULLPTR",
}  # fmt: skip
UNNAMED = {32: "FLOAT16"}
"""Kinds of types (CXTypeKind) that the Python side of libclang has no name for."""
ARRAYS = {"CONSTANTARRAY", "INCOMPLETEARRAY", "VARIABLEARRAY"}
SIZED = (
    SCALARS
    | ARRAYS
    | {"POINTER", "LVALUEREFERENCE", "RVALUEREFERENCE", "RECORD", "FUNCTIONPROTO", "FUNCTIONNOPROTO"}
)
OTHER = Type("other", "")
ABSENT = "ABSENT"


@functools.cache
def _library() -> Any:
    lib = cindex.conf.lib
    for name in ("clang_getCursorBinaryOperatorKind", "clang_getCursorUnaryOperatorKind"):
        getattr(lib, name).argtypes = [cindex.Cursor]
        getattr(lib, name).restype = ctypes.c_int
    lib.clang_Cursor_Evaluate.argtypes = [cindex.Cursor]
    lib.clang_Cursor_Evaluate.restype = ctypes.c_void_p
    lib.clang_EvalResult_getKind.argtypes = [ctypes.c_void_p]
    lib.clang_EvalResult_getKind.restype = ctypes.c_int
    lib.clang_EvalResult_getAsLongLong.argtypes = [ctypes.c_void_p]
    lib.clang_EvalResult_getAsLongLong.restype = ctypes.c_longlong
    lib.clang_EvalResult_dispose.argtypes = [ctypes.c_void_p]
    lib.clang_Cursor_getVarDeclInitializer.argtypes = [cindex.Cursor]
    lib.clang_Cursor_getVarDeclInitializer.restype = cindex.Cursor
    lib.clang_getAllSkippedRanges.argtypes = [cindex.TranslationUnit]
    lib.clang_getAllSkippedRanges.restype = ctypes.POINTER(_RangeList)
    return lib


class _RangeList(ctypes.Structure):
    _fields_ = [("count", ctypes.c_uint), ("ranges", ctypes.POINTER(cindex.SourceRange))]


@functools.cache
def compiler_headers() -> tuple[str, ...]:
    """Arguments that let libclang find omp.h and the compiler's own headers."""
    found = ["-isystem", str(Path(__file__).with_name("headers"))]
    for clang in ("clang", *(f"clang-{version}" for version in range(22, 13, -1))):
        if path := shutil.which(clang):
            answer = subprocess.run([path, "-print-resource-dir"], capture_output=True, text=True, check=False)
            if answer.returncode == 0 and os.path.isdir(os.path.join(answer.stdout.strip(), "include")):
                return (*found, "-isystem", os.path.join(answer.stdout.strip(), "include"))
    if path := shutil.which("gcc"):
        answer = subprocess.run([path, "-print-file-name=include"], capture_output=True, text=True, check=False)
        if os.path.isdir(answer.stdout.strip()):
            return (*found, "-isystem", answer.stdout.strip())
    return tuple(found)


def _language(path: str) -> tuple[str, ...]:
    return ("-x", "c") if path.endswith(".c") else ("-x", "c++")


def parse_units(units: Sequence[tuple[str, tuple[str, ...], str | None]]) -> Program:
    """Parse (file, compiler arguments, working directory) units into one program."""
    program = Program(inputs=tuple(os.path.abspath(path) for path, _, _ in units))
    for path, arguments, directory in units:
        _Unit(program, path, arguments, directory).read()
    return program


class _Unit:
    """One translation unit on its way into the program."""

    def __init__(self, program: Program, path: str, arguments: Sequence[str], directory: str | None) -> None:
        self.program = program
        self.path = os.path.abspath(path)
        self.arguments = list(arguments)
        if directory is not None:
            self.arguments.append(f"-working-directory={directory}")
        self.library = _library()
        self.types: dict[str, Type] = {}
        self.pending: list[tuple[Any, Function]] = []
        self.skipped: dict[str, list[tuple[int, int]]] = {}
        self.paths: dict[str, str] = {}

    def read(self) -> None:
        if not os.path.isfile(self.path):
            raise InputError(f"{self.path}: no such file; name C or C++ source files")
        standard = [*_language(self.path), "-D_OPENMP=202111", "-w", "-ferror-limit=0", *compiler_headers()]
        try:
            unit = cindex.Index.create().parse(
                self.path,
                args=[*standard, *self.arguments],
                options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD,
            )
        except cindex.TranslationUnitLoadError as fault:
            raise InputError(f"{self.path}: libclang cannot parse this file; check the flags after --") from fault
        for diagnostic in unit.diagnostics:
            if diagnostic.severity >= cindex.Diagnostic.Error:
                place = diagnostic.location
                name = place.file.name if place.file else self.path
                self.program.errors.append((name, place.line, place.column, diagnostic.spelling))
        ranges = self.library.clang_getAllSkippedRanges(unit)
        for k in range(ranges.contents.count):
            skipped = ranges.contents.ranges[k]
            if skipped.start.file:
                self.skipped.setdefault(self.file_of(skipped.start.file.name), []).append(
                    (skipped.start.offset, skipped.end.offset)
                )
        self.source_file(self.path)
        self.top_level(unit.cursor)
        while self.pending:
            cursor, function = self.pending.pop()
            self.body(cursor, function)

    # --- declarations

    def top_level(self, scope: Any) -> None:
        for cursor in scope.get_children():
            if cursor.location.is_in_system_header:
                continue
            kind = cursor.kind.name
            if kind in FUNCTIONS:
                if cursor.is_definition():
                    self.function(cursor)
            elif kind == "VAR_DECL":
                self.variable(cursor, build=True)
            elif kind in SCOPES:
                self.top_level(cursor)

    def function(self, cursor: Any) -> str:
        """The key of a function; its body is built once, in whichever unit defines it."""
        key = str(cursor.get_usr()) or f"{cursor.location.file}:{cursor.location.offset}"
        known = self.program.functions.get(key)
        if known is not None and known.body is not None:
            return key
        system = bool(cursor.location.is_in_system_header)
        definition = None if system else cursor.get_definition()
        if known is not None and definition is None:
            return key
        source = definition if definition is not None else cursor
        parameters = tuple(self.variable(p) for p in source.get_arguments() if p is not None)
        parent = cursor.semantic_parent
        record = parent.type.spelling if parent is not None and parent.kind.name.endswith("_DECL") else ""
        function = Function(
            key=key,
            name=cursor.spelling,
            file=self.file_of(source.location.file.name) if source.location.file else "",
            line=source.location.line,
            result=self.type(cursor.result_type),
            parameters=parameters,
            body=None,
            is_system=system,
            is_method=cursor.kind.name in FUNCTIONS - {"FUNCTION_DECL"} and not cursor.is_static_method(),
            is_static=cursor.storage_class.name == "STATIC",
            record=record,
        )
        self.program.functions[key] = function
        if definition is not None:
            self.pending.append((definition, function))
        return key

    def body(self, cursor: Any, function: Function) -> None:
        parts: list[Node] = []
        body = None
        for child in cursor.get_children():
            if child.kind.name == "COMPOUND_STMT" or child.kind.name == "CXX_TRY_STMT":
                body = self.node(child)
            elif cursor.kind.name == "CONSTRUCTOR" and child.kind.name not in {"PARM_DECL", "TYPE_REF"}:
                parts.append(self.node(child, child.kind.name == "MEMBER_REF"))
        if body is None:
            return
        if parts:
            self.constructor_initialisers(parts, body)
        source = self.source_file(body.file)
        inside = [d for d in source.directives if body.start <= d.start < body.end and not self.hidden(body, d)]
        _attach(body, inside, source.data)
        function.body = body

    def constructor_initialisers(self, parts: list[Node], body: Node) -> None:
        """`: m(e)` comes as a member reference followed by e; as the assignments at the head of the body."""
        made = []
        member = None
        for part in parts:
            if part.kind == "MEMBER_REF":
                member = part
            elif member is not None:
                target = Node(
                    "MEMBER_REF_EXPR", member.type, part.file, part.line, part.column, member.start, member.end,
                    spelling=member.spelling, ref=member.ref,
                )  # fmt: skip
                assign = Node(
                    "BINARY_OPERATOR", member.type, part.file, part.line, part.column, member.start, part.end,
                    op="=", children=[target, part],
                )  # fmt: skip
                target.parent = part.parent = assign
                assign.parent = body
                made.append(assign)
                member = None
        body.children[:0] = made

    def hidden(self, body: Node, directive: Directive) -> bool:
        return any(a <= directive.start < b for a, b in self.skipped.get(body.file, ()))

    def variable(self, cursor: Any, build: bool = False) -> Variable:
        linkage = cursor.linkage.name
        parent = cursor.semantic_parent
        local = parent is not None and parent.kind.name in {*FUNCTIONS, "FUNCTION_TEMPLATE", "LAMBDA_EXPR"}
        key = (
            str(cursor.get_usr())
            if linkage in {"EXTERNAL", "INTERNAL", "UNIQUE_EXTERNAL"} and not local
            else f"{cursor.location.file}:{cursor.location.offset}:{cursor.spelling}{self.instantiation(parent)}"
        )
        known = self.program.variables.get(key)
        if known is None:
            kind = self.type(cursor.type)
            if cursor.kind.name == "PARM_DECL" and kind.kind == "array" and kind.element is not None:
                kind = Type("pointer", f"{kind.element.spelling} *", 8, kind.element)
            known = self.program.variables[key] = Variable(
                key,
                cursor.spelling,
                kind,
                is_global=not local and cursor.kind.name == "VAR_DECL",
                is_static=cursor.storage_class.name == "STATIC",
            )
        if build:
            known.places.add((self.file_of(cursor.location.file.name), cursor.extent.start.offset))
            if known.node is None or cursor.is_definition():
                known.type = self.type(cursor.type)
                known.node = self.node(cursor)
        return known

    @staticmethod
    def instantiation(scope: Any) -> str:
        """The functions around a local variable: each instantiation of a template has variables of its own."""
        keys = []
        while scope is not None and scope.kind.name not in {"TRANSLATION_UNIT", "NAMESPACE", "INVALID_FILE"}:
            keys.append(f":{scope.get_usr()}")
            scope = scope.semantic_parent
        return "".join(keys)

    # --- types

    def type(self, clang_type: Any) -> Type:
        const = bool(clang_type.is_const_qualified())
        canonical = clang_type.get_canonical()
        spelling = str(canonical.spelling)
        known = self.types.get(spelling)
        if known is None:
            known = self.make_type(canonical, spelling, const or bool(canonical.is_const_qualified()))
            self.types[spelling] = known
        return known

    def make_type(self, canonical: Any, spelling: str, const: bool) -> Type:
        try:
            kind = canonical.kind.name
        except ValueError:
            kind = UNNAMED.get(canonical._kind_id, "")
        if kind not in SIZED:
            return Type("other", spelling)  # libclang aborts when asked for the size of a placeholder type
        size = int(canonical.get_size())
        if kind in SCALARS:
            return Type("scalar", spelling, size, const=const)
        if kind == "POINTER":
            return Type("pointer", spelling, size, self.type(canonical.get_pointee()), const=const)
        if kind in {"LVALUEREFERENCE", "RVALUEREFERENCE"}:
            return Type("reference", spelling, 8, self.type(canonical.get_pointee()), const=True)
        if kind in ARRAYS:
            count = int(canonical.get_array_size()) if kind == "CONSTANTARRAY" else None
            return Type("array", spelling, size, self.type(canonical.get_array_element_type()), count, const)
        if kind == "RECORD":
            if spelling.replace("const ", "") not in self.program.records:
                name = spelling.replace("const ", "")
                self.program.records[name] = ()
                if not name.startswith("std::"):
                    self.program.records[name] = tuple(
                        Field(f.spelling, self.type(f.type), max(f.get_field_offsetof(), 0) // 8)
                        for f in canonical.get_fields()
                    )
            return Type("record", spelling, size, const=const)
        if kind in {"FUNCTIONPROTO", "FUNCTIONNOPROTO"}:
            return Type("function", spelling, -1, self.type(canonical.get_result()))
        return Type("other", spelling, size)

    # --- statements and expressions

    def file_of(self, name: str) -> str:
        known = self.paths.get(name)
        if known is None:
            known = self.paths[name] = os.path.abspath(name)
        return known

    def source_file(self, path: str) -> SourceFile:
        source = self.program.files.get(path)
        if source is None:
            data = Path(path).read_bytes()
            directives = []
            for place in find_pragmas(data):
                if place.active is False or place.macro:
                    continue
                parsed = parse_pragma(data, place.start, place.end)
                if isinstance(parsed, Malformed):
                    self.program.errors.append((path, parsed.line, parsed.column, parsed.message))
                else:
                    directives.append(parsed)
            source = self.program.files[path] = SourceFile(
                path, data, tuple(directives), self.skipped.get(path, [])
            )
        return source

    def node(self, cursor: Any, shallow: bool = False) -> Node:
        kind = cursor.kind.name
        children = [] if shallow else [c for c in cursor.get_children() if c.kind.name not in REFERENCES]
        while kind in TRANSPARENT and len(children) == 1:
            cursor = children[0]
            kind = cursor.kind.name
            children = [c for c in cursor.get_children() if c.kind.name not in REFERENCES]
        extent = cursor.extent
        start = extent.start
        clang_file = start.file
        node = Node(
            kind,
            OTHER if kind.endswith("_STMT") else self.type(cursor.type),
            self.file_of(clang_file.name) if clang_file is not None else self.path,
            start.line,
            start.column,
            start.offset,
            extent.end.offset,
            cursor.spelling,
        )
        build = getattr(self, f"node_{kind.lower()}", None)
        if build is not None:
            build(cursor, node, children)
        elif kind in CASTS:
            node.kind = "CAST"
            node.children = [self.node(c) for c in children if c.kind.name not in {"PARM_DECL"}][-1:]
        elif not shallow:
            node.children = [self.node(c) for c in children]
        for child in node.children:
            child.parent = node
        if kind in {"MEMBER_REF", "MEMBER_REF_EXPR"} and cursor.referenced is not None:
            node.ref = cursor.referenced.get_usr()
        return node

    def constant(self, cursor: Any, node: Node) -> None:
        result = self.library.clang_Cursor_Evaluate(cursor)
        if result:
            if self.library.clang_EvalResult_getKind(result) == 1:
                node.value = int(self.library.clang_EvalResult_getAsLongLong(result))
            self.library.clang_EvalResult_dispose(result)

    def node_integer_literal(self, cursor: Any, node: Node, _: list[Any]) -> None:
        self.constant(cursor, node)

    def node_character_literal(self, cursor: Any, node: Node, _: list[Any]) -> None:
        self.constant(cursor, node)

    def node_cxx_bool_literal_expr(self, cursor: Any, node: Node, _: list[Any]) -> None:
        self.constant(cursor, node)

    def node_cxx_unary_expr(self, cursor: Any, node: Node, children: list[Any]) -> None:
        self.constant(cursor, node)
        if node.value is None:
            node.children = [self.node(c) for c in children]

    def node_binary_operator(self, cursor: Any, node: Node, children: list[Any]) -> None:
        node.op = BINARY[self.library.clang_getCursorBinaryOperatorKind(cursor)]
        node.children = [self.node(c) for c in children]

    node_compound_assignment_operator = node_binary_operator

    def node_unary_operator(self, cursor: Any, node: Node, children: list[Any]) -> None:
        node.op = UNARY[self.library.clang_getCursorUnaryOperatorKind(cursor)]
        node.children = [self.node(c) for c in children]

    def node_decl_ref_expr(self, cursor: Any, node: Node, _: list[Any]) -> None:
        referenced = cursor.referenced
        if referenced is None:
            return
        kind = referenced.kind.name
        if kind in {"VAR_DECL", "PARM_DECL"}:
            variable = self.variable(referenced)
            node.ref = variable.key
            if kind == "PARM_DECL" and node.type.kind == "array":
                node.type = variable.type  # libclang shows a parameter's type before it decays
        elif kind == "ENUM_CONSTANT_DECL":
            node.value = int(referenced.enum_value)
        elif kind in FUNCTIONS:
            node.ref = self.function(referenced)
        else:
            node.ref = referenced.get_usr()

    def node_call_expr(self, cursor: Any, node: Node, children: list[Any]) -> None:
        referenced = cursor.referenced
        if referenced is not None and referenced.kind.name in FUNCTIONS:
            node.ref = self.function(referenced)
        arguments = [a for a in cursor.get_arguments() if a is not None]
        node.children = [self.node(a) for a in arguments]
        callee = children[0] if children else None
        while callee is not None and callee.kind.name in TRANSPARENT:
            inner = [c for c in callee.get_children() if c.kind.name not in REFERENCES]
            callee = inner[0] if len(inner) == 1 else None
        member = callee is not None and callee.kind.name == "MEMBER_REF_EXPR"
        operator = node.spelling.startswith("operator")
        if not operator and callee is not None and (member or not node.ref):
            node.op = "member" if member and node.ref else "indirect"
            node.children.insert(0, self.node(callee))
        elif referenced is not None and referenced.kind.name == "CONSTRUCTOR":
            node.op = "construct"
        elif operator:
            node.op = "operator"

    def node_var_decl(self, cursor: Any, node: Node, children: list[Any]) -> None:
        node.ref = self.variable(cursor).key
        init = self.library.clang_Cursor_getVarDeclInitializer(cursor)
        init._tu = cursor._tu
        if not init.kind.is_invalid():
            made = self.node(init)
            made.parent = node
            node.children = [made]
            node.op = "="
        # The extents of an array of variable size.
        dimensions = [c for c in children if c.kind.is_expression() and c.extent.start.offset < (node.end if
                      init.kind.is_invalid() else init.extent.start.offset)]  # fmt: skip
        if node.type.kind == "array" and node.type.size < 0:
            node.children += [self.node(c) for c in dimensions]

    def node_for_stmt(self, cursor: Any, node: Node, children: list[Any]) -> None:
        parts = [self.node(c) for c in children]
        first, second = self.semicolons(node)
        slots: list[Node | None] = [None, None, None, parts[-1] if parts else None]
        for part in parts[:-1]:
            slots[0 if part.start < first else 1 if part.start < second else 2] = part
        node.children = [part if part is not None else _absent(node) for part in slots]

    def semicolons(self, node: Node) -> tuple[int, int]:
        data = self.source_file(node.file).data
        at = data.find(b"(", node.start)
        found, depth, quote = [], 0, 0
        for offset in range(at + 1, min(node.end, len(data))):
            char = data[offset]
            if quote:
                quote = 0 if char == quote and data[offset - 1] != 0x5C else quote
            elif char in b"\"'":
                quote = char
            elif char in b"([{":
                depth += 1
            elif char in b")]}":
                depth -= 1
            elif char == 0x3B and depth == 0:
                found.append(offset)
                if len(found) == 2:
                    return found[0], found[1]
        return node.end, node.end

    def node_cxx_new_expr(self, cursor: Any, node: Node, children: list[Any]) -> None:
        node.children = [self.node(c) for c in children]
        data = self.source_file(node.file).data
        if node.children and data[: node.children[0].start].rstrip().endswith(b"["):
            node.op = "[]"

    def node_lambda_expr(self, cursor: Any, node: Node, children: list[Any]) -> None:
        node.children = [self.node(c) for c in children if c.kind.name == "COMPOUND_STMT"]

    def node_goto_stmt(self, cursor: Any, node: Node, children: list[Any]) -> None:
        label = next((c for c in cursor.get_children() if c.kind.name == "LABEL_REF"), None)
        node.spelling = label.spelling if label is not None else ""


def _absent(node: Node) -> Node:
    return Node(ABSENT, OTHER, node.file, node.line, node.column, node.start, node.start)


STATEMENT_HOLDERS = {
    "COMPOUND_STMT", "IF_STMT", "FOR_STMT", "WHILE_STMT", "DO_STMT", "SWITCH_STMT", "CASE_STMT", "DEFAULT_STMT",
    "LABEL_STMT", "CXX_FOR_RANGE_STMT", "OMP_STMT", "CXX_TRY_STMT", "CXX_CATCH_STMT",
}  # fmt: skip


def _is_statement(node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.kind not in STATEMENT_HOLDERS or node.kind == ABSENT:
        return False
    if parent.kind == "IF_STMT":
        return node is not parent.children[0]
    if parent.kind in {"FOR_STMT", "CXX_FOR_RANGE_STMT", "CASE_STMT", "SWITCH_STMT", "WHILE_STMT"}:
        return node is parent.children[-1]
    if parent.kind == "DO_STMT":
        return node is parent.children[0]
    return True


def _attach(body: Node, directives: list[Directive], data: bytes) -> None:
    """Put the directives into the tree, last first, so that stacked directives nest."""
    for directive in reversed(directives):
        if directive.association is Association.NONE:
            _stand_alone(body, directive, data)
        elif directive.association in (Association.BLOCK, Association.LOOP):
            _wrap(body, directive, data)


def _holder(body: Node, directive: Directive) -> Node:
    """The innermost compound statement around a directive."""
    inner = body
    for node in body.walk():
        if node.kind == "COMPOUND_STMT" and node.start < directive.start and directive.end <= node.end:
            inner = node
    return inner


def _directive_node(kind: str, directive: Directive, file: str, data: bytes) -> Node:
    line = data.count(b"\n", 0, directive.start) + 1
    return Node(kind, OTHER, file, line, 1, directive.start, directive.end, directive.kind, directive=directive)


def _stand_alone(body: Node, directive: Directive, data: bytes) -> None:
    holder = _holder(body, directive)
    node = _directive_node("OMP_ALONE", directive, holder.file, data)
    node.parent = holder
    at = next((k for k, child in enumerate(holder.children) if child.start > directive.start), len(holder.children))
    holder.children.insert(at, node)


def _wrap(body: Node, directive: Directive, data: bytes) -> None:
    target: Node | None = None
    for node in body.walk():
        if node.start >= directive.end and _is_statement(node):
            target = node
            break
    if target is None or target.parent is None:
        return
    parent = target.parent
    node = _directive_node("OMP_STMT", directive, target.file, data)
    node.end = target.end
    node.children = [target]
    node.parent = parent
    parent.children[parent.children.index(target)] = node
    target.parent = node


def indentation(data: bytes, offset: int) -> str:
    """The white space at the head of the line that holds an offset."""
    start = data.rfind(b"\n", 0, offset) + 1
    match = re.match(rb"[ \t]*", data[start:])
    return match.group().decode() if match else ""
