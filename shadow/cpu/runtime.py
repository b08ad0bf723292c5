"""The Python functions that run beside a kernel, as LLVM IR, and their native code.

Numba compiles checker, slow paths and scheduler from Python. The IR of the first two, which a kernel's module
links, and the scheduler's object code are kept in the user's cache, under a fingerprint of the sources and of the
compiler.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from importlib import resources
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
from numba.extending import register_jitable
from racedart.shadow import checker
from racedart.shadow.cpu import primitives, scheduler, slow_path
from racedart.shadow.cpu.cache import cached_bytes, cached_text, fingerprint, is_cached
from racedart.shadow.outcome import Mode


def target_machine(level: int = 2) -> Any:
    """A target machine of the host; an execution engine owns the one that it is given."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=level,
        jit=True,
        reloc="default",
        codemodel="jitdefault",
    )


@functools.cache
def host() -> str:
    """What machine code depends on besides its IR: the processor and the compiler."""
    features = llvm.get_host_cpu_features().flatten()
    return f"{llvm.get_default_triple()} {llvm.get_host_cpu_name()} {features} {llvmlite.__version__}"


def optimise(module: Any, level: int) -> None:
    """Run LLVM's standard pipeline of a level on a module."""
    tuning = llvm.create_pipeline_tuning_options(speed_level=level)
    # Kernels branch on resume points; vectorising their loops pays little and costs compile time.
    tuning.loop_vectorization = False
    tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(target_machine(), tuning)
    builder.getModulePassManager().run(module, builder)


def object_code(module: Any, level: int) -> bytes:
    """A module's object file, optimised."""
    optimise(module, level)
    return bytes(target_machine(level).emit_object(module))


def loaded(code: bytes) -> Any:
    """An execution engine that holds the code of an object file."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


def is_compiled(mode: Mode) -> bool:
    """Whether the functions that run beside a kernel are in the user's cache; else they take some seconds."""
    return is_cached("helpers", fingerprint(mode, _sources())) and is_cached("scheduler", fingerprint(_sources()))


RARE = {"racedart_locate", "racedart_fault", "racedart_printed", "racedart_uninitialised"}
"""Functions that kernels call out of line."""


@functools.cache
def helpers(mode: Mode) -> str:
    """IR of racedart_check, racedart_locate and racedart_fault for a mode, optimised."""
    key = fingerprint(mode, _sources())
    return cached_text("helpers", key, lambda: _helpers(mode))


def _helpers(mode: Mode) -> str:
    # Numba loads what it compiles, and fails at a symbol that it cannot find; the code that it loads is never
    # called, only its IR is used.
    llvm.add_symbol("racedart_report", 1)
    transition = register_jitable(
        checker.make_check(primitives.load_word, primitives.swap_word, primitives.call_report, mode)
    )

    def check(thread: Any, mine: Any, place: Any, address: Any, access: Any, site: Any) -> None:
        transition(thread, mine, place, address, access, site)

    parts = [
        _compiled("racedart_check", check, 6, returns=False),
        _compiled("racedart_report", slow_path.report, 6, returns=False),
        _compiled("racedart_locate", slow_path.locate, 4, returns=True),
        _compiled("racedart_fault", slow_path.fault, 4, returns=True),
        _compiled("racedart_printed", slow_path.printed, 4, returns=True),
        _compiled("racedart_uninitialised", slow_path.uninitialised, 3, returns=False),
    ]
    return _linked(parts, {"racedart_check", *RARE}, level=2)


def set_inlining(module: Any, inlined: bool) -> None:
    """Inline the checker if so told, and keep the rare paths out of line."""
    for function in module.functions:
        if function.name == "racedart_check":
            function.add_function_attribute("alwaysinline" if inlined else "noinline")
        elif function.name in {"racedart_report", *RARE}:
            function.add_function_attribute("noinline")


@functools.cache
def run_blocks() -> Callable[[int], int]:
    """The native scheduler: run_blocks(address of a Schedule record) -> its result; releases the GIL."""
    engine = loaded(cached_bytes("scheduler", fingerprint(_sources()), _scheduler))
    prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    function = prototype(engine.get_function_address("racedart_run"))
    # The engine owns the code: keep it as long as the function.
    function.engine = engine  # type: ignore[attr-defined]  # ctypes functions take attributes
    return function


def _scheduler() -> bytes:
    text = _linked([_compiled("racedart_run", scheduler.run_blocks, 1, returns=True)], {"racedart_run"}, level=2)
    return object_code(llvm.parse_assembly(text), 2)


def hide_all_but(module: Any, names: set[str]) -> None:
    """Make every defined function internal but the named ones, so that unused ones go."""
    for function in module.functions:
        if not function.is_declaration and function.name not in names:
            function.linkage = "internal"


def _linked(parts: list[str], names: set[str], level: int) -> str:
    module = llvm.parse_assembly(parts[0])
    for part in parts[1:]:
        module.link_in(llvm.parse_assembly(part))
    for function in module.functions:
        if function.name == "racedart_report":
            function.add_function_attribute("noinline")
    hide_all_but(module, names)
    optimise(module, level)
    return str(module)


def _compiled(name: str, function: Callable[..., Any], arguments: int, *, returns: bool) -> str:
    """A Python function of 64-bit integers as IR, under a plain C signature."""
    from numba.core import compiler, types
    from numba.core.registry import cpu_target

    flags = compiler.Flags()
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    flags.nrt = False
    flags.error_model = "numpy"
    result = compiler.compile_extra(
        cpu_target.typing_context,
        cpu_target.target_context,
        function,
        (types.int64,) * arguments,
        types.int64 if returns else types.void,
        flags,
        {},
    )
    symbol = result.fndesc.llvm_func_name
    module = llvm.parse_assembly(result.library.get_llvm_str())
    parameters = ", ".join(f"i64 %a{k}" for k in range(arguments))
    passed = ", ".join(["ptr %result", "ptr %error", *(f"i64 %a{k}" for k in range(arguments))])
    declared = ", ".join(["ptr", "ptr", *("i64" for _ in range(arguments))])
    wrapper = f"""
declare i32 @{symbol}({declared})
define {"i64" if returns else "void"} @{name}({parameters}) {{
  %result = alloca i64
  %error = alloca ptr
  %status = call i32 @{symbol}({passed})
  {"%value = load i64, ptr %result" if returns else ""}
  ret {"i64 %value" if returns else "void"}
}}
"""
    module.link_in(llvm.parse_assembly(wrapper))
    return str(module)


@functools.cache
def _sources() -> str:
    """The sources and versions that the compiled helpers depend on."""
    texts = [f"{numba.__version__} {host()}"]
    for package, names in (
        ("racedart.shadow", ("checker.py", "word.py")),
        (
            "racedart.shadow.cpu",
            ("layout.py", "meetings.py", "primitives.py", "scheduler.py", "slow_path.py", "runtime.py"),
        ),
        ("racedart.fsm", ("exact.csv", "published.csv", "skip.csv", "vocabulary.py", "tables.py")),
    ):
        folder = resources.files(package)
        texts += [folder.joinpath(name).read_text() for name in names]
    return "\n".join(texts)
