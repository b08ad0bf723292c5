"""The GPU engine: the checker injected into a kernel's PTX, run by the driver.

Does not intercept launches of a program, and uses one GPU, the current one.
"""
