"""Whether a mapping is right, by running it: clang's host device, real copies, watched device code.

verification = verify(units, changed, arguments, options)
verification.verdict     # "right", "wrong" or "unknown"
"""

from __future__ import annotations

from racedart.analyzer.verify.build import Unit
from racedart.analyzer.verify.execute import Access, Execution, Transfers
from racedart.analyzer.verify.toolchain import Toolchain, find_toolchain
from racedart.analyzer.verify.verification import Measured, Options, Verification, verify

__all__ = [
    "Access",
    "Execution",
    "Measured",
    "Options",
    "Toolchain",
    "Transfers",
    "Unit",
    "Verification",
    "find_toolchain",
    "verify",
]
