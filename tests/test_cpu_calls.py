"""Calls of the device runtime: what printf prints and which assertion failed."""

from __future__ import annotations

import ctypes
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import racedart
from racedart.cli import main
from racedart.shadow.cpu.prints import formatted

SOURCE = r"""
#include <cstdio>
#include <cassert>
extern "C" __global__ void talk(int* a) {
  int n = printf("thread %d of %u: %s %c %5.2f %lld %#x %%\n", threadIdx.x, blockDim.x, "text", 'c', 1.5,
                 1ll << 40, 255);
  a[threadIdx.x] = n;
  if (threadIdx.x == 1) printf("last\n");
}
extern "C" __global__ void strict(int* a) { assert(a[threadIdx.x] == 0 && "all zero"); }
"""


def test_printf_is_printed_in_the_order_of_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    a = np.zeros(3, np.int32)
    run = racedart.check(racedart.cuda_kernel(SOURCE, "talk"), 1, 3, a)
    assert run.verdict == "clean", run.reasons
    said = [f"thread {t} of 3: text c  1.50 1099511627776 0xff %\n" for t in range(3)]
    said.insert(2, "last\n")
    assert capsys.readouterr().out == "".join(said)
    assert a.tolist() == [7] * 3


def test_what_is_printed_does_not_stand_in_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.cu"
    path.write_text(SOURCE)
    target = f"{path}::talk"
    with pytest.raises(SystemExit):
        main(["check", target, "--grid", "1", "--block", "1", "--arg", "zeros:4:i4", "--output-format", "json"])
    captured = capsys.readouterr()
    assert json.loads(captured.out)["findings"] == []
    assert "thread 0 of 1" in captured.err


def test_a_failed_assertion_is_named() -> None:
    run = racedart.check(racedart.cuda_kernel(SOURCE, "strict"), 1, 2, np.array([0, 1], np.int32))
    (reason,) = run.reasons
    assert reason.kind == "trap"
    assert "all zero" in reason.message
    assert "thread (1, 0, 0)" in reason.message


OUTSIDE = """
__device__ __noinline__ int down(int n) { return n < 2 ? n : down(n - 1) + down(n - 2); }
extern "C" __global__ void recursive(int* a) { a[0] = down(a[1]); }
extern "C" __global__ void indirect(int* a) {
  int (*const chosen[])(int) = {down, abs};
  a[0] = chosen[a[1] & 1](a[0]);
}
extern "C" __global__ void allocates(int* a) { a[0] = *(int*)malloc(a[1]); }
"""


@pytest.mark.parametrize(
    ("name", "said"), [("recursive", "down"), ("indirect", "the address of abs"), ("allocates", "malloc")]
)
def test_a_call_that_stays_is_named(name: str, said: str) -> None:
    run = racedart.check(racedart.cuda_kernel(OUTSIDE, name), 1, 1, np.full(2, 5, np.int32))
    assert run.verdict == "incomplete"
    (reason,) = run.reasons
    assert said in reason.message
    assert reason.location is not None
    assert reason.location.line == {"recursive": 2, "indirect": 5, "allocates": 8}[name]


INTEGERS = ["%d", "%5d|%-5d", "%+d", "%05i", "%u", "%x", "%#X", "%#o", "%hhd", "%hu", "%lld", "%llx", "%*d", "%c"]
DOUBLES = ["%f", "%8.3f", "%-12e|", "%G", "%+.0f", "%.*f"]


@pytest.mark.parametrize("text", [*INTEGERS, *DOUBLES, "100%% %s", "%10.3s|", "none"])
def test_formats_agree_with_the_host_library(text: str) -> None:
    library = ctypes.CDLL(None)
    packed: bytes
    arguments: list[Any]
    if "s" in text:
        packed, arguments = struct.pack("<q", 77), [b"string"]
    elif text in DOUBLES:
        packed, arguments = struct.pack("<d", -2.71828e3), [ctypes.c_double(-2.71828e3)]
        if "*" in text:
            packed, arguments = struct.pack("<ixxxx", 3) + packed, [3, *arguments]
    elif "l" in text:
        packed, arguments = struct.pack("<q", -123456789), [ctypes.c_longlong(-123456789)]
    elif "*" in text:
        packed, arguments = struct.pack("<ii", 12, 42), [12, 42]
    else:
        number = 65 if "c" in text else -123456789
        packed, arguments = struct.pack("<ii", number, 42), [number, 42]
    buffer = ctypes.create_string_buffer(200)
    library.snprintf(buffer, 200, text.encode(), *arguments)
    assert formatted(text, packed, {77: "string"}.__getitem__) == buffer.value.decode()
