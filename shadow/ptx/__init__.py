"""PTX text and its module model: tokens, parser, printer, control-flow graph.

`parse_module` reads PTX 7.x to 9.x (PTX ISA, chapters 4 to 11) into immutable values that the
instrumentation and both engines consume; `print_module` writes them back.
"""

from racedart.shadow.ptx.model import Function, Instruction, Module, Variable
from racedart.shadow.ptx.parser import parse_module
from racedart.shadow.ptx.printer import print_module

__all__ = ["Function", "Instruction", "Module", "Variable", "parse_module", "print_module"]
