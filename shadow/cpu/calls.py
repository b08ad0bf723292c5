"""Arguments and results of calls that are not inlined, which stand in local memory of the thread."""

from __future__ import annotations

from racedart.shadow.cpu.emitter import Emitter, Unmodelled
from racedart.shadow.cpu.layout import Frame
from racedart.shadow.ptx.model import Arguments, Instruction, Operand, Register, Symbol


def _split(instruction: Instruction) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """The operands that receive results, and those that are passed."""
    lists = [operand for operand in instruction.operands if isinstance(operand, Arguments)]
    if instruction.operands and isinstance(instruction.operands[0], Arguments):
        return lists[0].elements, lists[1].elements if len(lists) > 1 else ()
    return (), lists[0].elements if lists else ()


def _place(emitter: Emitter, operand: Operand) -> str:
    """Pointer to the variable that carries an argument or a result."""
    if not isinstance(operand, Symbol) or operand.name not in emitter.symbols:
        raise Unmodelled("this form of a call")
    host = emitter.frame(Frame.LOCAL_HOST)
    address = emitter.new(f"add i64 {host}, {emitter.symbols[operand.name] + operand.offset}")
    return emitter.new(f"inttoptr i64 {address} to ptr")


def argument(emitter: Emitter, instruction: Instruction, number: int, bits: int) -> str:
    """A passed value, as an integer."""
    passed = _split(instruction)[1]
    if number >= len(passed):
        raise Unmodelled("a call with too few arguments")
    return emitter.new(f"load i{bits}, ptr {_place(emitter, passed[number])}")


def give_back(emitter: Emitter, instruction: Instruction, bits: int, value: str) -> None:
    """Give the caller a result, if it takes one."""
    for operand in _split(instruction)[0][:1]:
        if isinstance(operand, Register):
            raise Unmodelled("this form of a call")
        emitter.do(f"store i{bits} {value}, ptr {_place(emitter, operand)}")
