"""Arithmetic in a directed rounding mode (.rz, .rm, .rp), by the host's own rounding mode.

Each (operation, type, mode) becomes a function of its own that sets the mode, computes and sets it back (LLVM's
constrained floating-point intrinsics). It is kept out of line, so that no other arithmetic can move in between.
"""

from __future__ import annotations

from racedart.shadow.cpu.emitter import Emitter
from racedart.shadow.ptx.model import Instruction

MODES = {"rz": 0, "rp": 2, "rm": 3}
"""LLVM's numbers of the rounding modes; 1 is to nearest even."""
WIDTHS = {"float": "f32", "double": "f64"}


def directed(instruction: Instruction) -> str:
    """The directed rounding mode that an instruction names, "" for none."""
    return next((mode for mode in MODES if instruction.has(mode)), "")


def compute(emitter: Emitter, operation: str, result: str, mode: str, *operands: tuple[str, str]) -> str:
    """A value of LLVM type `result`, rounded in a mode.

    operation: of the constrained intrinsics, such as "fadd", "fma", "fptrunc" or "sitofp". operands: (type, value).
    """
    types = [type_ for type_, _ in operands]
    suffix = "".join(
        f".{WIDTHS.get(type_, type_)}" for type_ in [result, *([] if types[0] == result else types[:1])]
    )
    intrinsic = f"llvm.experimental.constrained.{operation}{suffix}"
    name = f"racedart_{operation}{suffix.replace('.', '_')}_{mode}"
    parameters = ", ".join(f"{type_} %a{k}" for k, type_ in enumerate(types))
    declared = ", ".join([*types, "metadata", "metadata"])
    emitter.intrinsics.add(f"declare {result} @{intrinsic}({declared})")
    emitter.intrinsics.add("declare void @llvm.set.rounding(i32)")
    emitter.intrinsics.add(
        f"define internal {result} @{name}({parameters}) noinline strictfp {{\n"
        f"  call void @llvm.set.rounding(i32 {MODES[mode]}) strictfp\n"
        f"  %value = call {result} @{intrinsic}({parameters}, "
        'metadata !"round.dynamic", metadata !"fpexcept.strict") strictfp\n'
        "  call void @llvm.set.rounding(i32 1) strictfp\n"
        f"  ret {result} %value\n}}"
    )
    passed = ", ".join(f"{type_} {value}" for type_, value in operands)
    return emitter.new(f"call {result} @{name}({passed})")


def stepped(emitter: Emitter, mode: str, bits: str, width: int, back: str, exact: str, llvm: str) -> str:
    """Bits of a narrow float, rounded to nearest, moved by one unit where they lie on the wrong side.

    back: the value that the bits stand for; exact: the value to round; both of LLVM type `llvm`.
    """
    type_ = f"i{width}"
    above = emitter.new(f"fcmp ogt {llvm} {back}, {exact}")
    below = emitter.new(f"fcmp olt {llvm} {back}, {exact}")
    negative = emitter.new(f"icmp slt {type_} {bits}, 0")
    shrink = emitter.new(f"sub {type_} {bits}, 1")
    if mode == "rz":
        positive = emitter.new(f"xor i1 {negative}, true")
        wrong = emitter.new(
            f"or i1 {emitter.new(f'and i1 {above}, {positive}')}, {emitter.new(f'and i1 {below}, {negative}')}"
        )
        return emitter.new(f"select i1 {wrong}, {type_} {shrink}, {type_} {bits}")
    grow = emitter.new(f"add {type_} {bits}, 1")
    down = mode == "rm"
    magnitude = emitter.new(f"shl {type_} {bits}, 1")
    zero = emitter.new(f"icmp eq {type_} {magnitude}, 0")
    outward, inward = (grow, shrink) if down else (shrink, grow)
    moved = emitter.new(f"select i1 {negative}, {type_} {outward}, {type_} {inward}")
    smallest = -(1 << (width - 1)) + 1 if down else 1
    moved = emitter.new(f"select i1 {zero}, {type_} {smallest}, {type_} {moved}")
    return emitter.new(f"select i1 {above if down else below}, {type_} {moved}, {type_} {bits}")
