"""Compiled CUDA programs without a GPU: their own host code runs, every launch is handed over.

`run_program` starts a program that nvcc linked with `-cudart shared`, with a library of ours in the place of the
CUDA runtime (`runtime.c`). Its device memory is shared with this process, at the addresses that the CPU engine
uses, so that pointers in device memory keep their meaning and the program sees what its kernels wrote.
Kernels come as the PTX that nvcc put into the program.
"""

from racedart.shadow.frontends.cudart.session import run_program
from racedart.shadow.frontends.cudart.stand_in import is_program, require_program

__all__ = ["is_program", "require_program", "run_program"]
