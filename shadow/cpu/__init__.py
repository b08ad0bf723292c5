"""The CPU engine: PTX -> LLVM IR -> native code, run by a scheduler with the checker in front of memory."""
