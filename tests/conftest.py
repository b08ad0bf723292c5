"""Fixtures for all tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from racedart.shadow.frontends import cuda_kernel, load_target, make_launch

ROOT = Path(__file__).parent.parent

KERNELS = {
    "transpose": ("samples/transpose.cu", "transpose"),
    "matmul": ("samples/matmul.cu", "multiply<8>"),
    "smooth": ("samples/double_buffer.cu", "smooth"),
    "fold": ("tests/cases/race/last_block.cu", "fold"),
    "max_of_64": ("tests/cases/race/warp_tail.cu", "max_of_64"),
}


@pytest.fixture(params=[*KERNELS, "numba"])
def compiled_sample(request: pytest.FixtureRequest) -> str:
    """PTX text of a sample as its compiler emits it."""
    if request.param == "numba":
        kernel = load_target(f"{ROOT}/samples/prefix_scan.py::fixed")
        return make_launch(kernel, 1, 64, [np.ones(64, np.int32)]).kernel.ptx
    path, name = KERNELS[request.param]
    return cuda_kernel(ROOT / path, name).compile()[0].ptx


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The smoke test comes first: if the stack is broken, that is the first thing to know."""
    items.sort(key=lambda item: item.path.name != "test_smoke.py")
