"""Memory of a launch: which bytes a parameter points to, shared by aliases, written back in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from racedart.finding.errors import UsageError
from racedart.shadow.frontends import cuda_kernel, make_launch
from racedart.shadow.launch import Launch

SOURCE = 'extern "C" __global__ void k(void* a, void* b) { ((char*)a)[0] = ((char*)b)[0]; }'


def launch(a: Any, b: Any) -> Launch:
    return make_launch(cuda_kernel(SOURCE + "\n", "k"), 1, 1, (a, b))


def raw(launch: Launch, parameter: int) -> tuple[NDArray[np.uint8], int]:
    """The bytes of the buffer that a parameter points to, and the offset of the pointer."""
    (pointer,) = launch.params[parameter].pointers
    array = launch.buffers[pointer.buffer].array
    assert array.flags.c_contiguous
    return array.reshape(-1).view(np.uint8), pointer.offset


def through(launch: Launch, parameter: int, view: NDArray[Any]) -> NDArray[Any]:
    """What the device would see through the parameter with the view's strides."""
    data, offset = raw(launch, parameter)
    out = np.empty(view.shape, view.dtype)
    for index in np.ndindex(view.shape):
        at = offset + sum(i * s for i, s in zip(index, view.strides, strict=True))
        assert 0 <= at <= len(data) - view.itemsize, "points outside its buffer"
        out[index] = data[at : at + view.itemsize].copy().view(view.dtype)[0]
    return out


BASE = np.arange(48, dtype=np.int32).reshape(6, 8)
VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda a: a,
    "fortran": lambda a: np.asfortranarray(a),
    "transposed": lambda a: a.T,
    "columns": lambda a: a[:, ::2],
    "reversed": lambda a: a[::-1],
    "reversed both": lambda a: a[::-2, ::-3],
    "inner": lambda a: a[1:4, 2:5],
    "broadcast": lambda a: np.broadcast_to(a[0], (3, 8)),
    "windows": lambda a: np.lib.stride_tricks.sliding_window_view(a.reshape(-1), 5),
    "as_strided": lambda a: np.lib.stride_tricks.as_strided(a, (4, 3), (32, 8)),
    "scalar array": lambda a: a[2, 3:4].reshape(()),
    "bytes": lambda a: a.view(np.uint8)[:, 1:7],
}


@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)
def test_every_element_of_a_view_is_where_its_strides_say(make: Any) -> None:
    view = make(BASE.copy())
    np.testing.assert_array_equal(through(launch(view, None), 0, view), view)


WRITEABLE = {name: make for name, make in VIEWS.items() if make(BASE.copy()).flags.writeable}


@pytest.mark.parametrize("make", WRITEABLE.values(), ids=WRITEABLE)
def test_what_the_kernel_writes_arrives_in_the_users_array(make: Any) -> None:
    view = make(BASE.copy())
    made = launch(view, None)
    data, offset = raw(made, 0)
    np.copyto(data[offset : offset + view.itemsize], np.uint8(0xA5))
    first = np.asarray(view[(0,) * view.ndim])
    assert first.reshape(1).view(np.uint8).tolist() == [0xA5] * view.itemsize


def test_an_array_given_twice_is_one_buffer() -> None:
    a = np.zeros(8, np.float32)
    made = launch(a, a)
    assert len(made.buffers) == 1
    assert made.params[0].pointers[0].offset == made.params[1].pointers[0].offset == 0
    assert made.buffers[0].name == "a/b"


def test_overlapping_views_share_memory() -> None:
    a = np.arange(16, dtype=np.int32)
    made = launch(a[:12], a[4:])
    assert len(made.buffers) == 1
    assert made.params[1].pointers[0].offset - made.params[0].pointers[0].offset == 16
    np.testing.assert_array_equal(through(made, 1, a[4:]), a[4:])


def test_neighbouring_views_are_apart() -> None:
    a = np.arange(16, dtype=np.int32)
    assert len(launch(a[:8], a[8:]).buffers) == 2


@pytest.mark.parametrize("make", [lambda a: a, lambda a: a[::2]], ids=["whole", "strided"])
def test_read_only_memory_is_not_written_back(make: Any) -> None:
    view = make(np.arange(8, dtype=np.int32))
    view.flags.writeable = False
    array = launch(view, None).buffers[0].array
    assert not array.flags.writeable or not np.shares_memory(array, view)


def test_an_empty_array_has_an_empty_buffer() -> None:
    a = np.arange(8, dtype=np.int32)
    made = launch(a[4:4], a)
    assert made.buffers[made.params[0].pointers[0].buffer].array.nbytes == 0
    np.testing.assert_array_equal(through(made, 1, a), a)


def test_arrays_of_objects_are_refused() -> None:
    with pytest.raises(UsageError, match="object"):
        launch(np.array([{}, 1], object), None)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.slices(6), st.slices(8)), min_size=2, max_size=2))
def test_any_two_views_keep_their_elements_and_their_overlap(slices: Any) -> None:
    base = BASE.copy()
    views = [base[s] for s in slices]
    made = launch(*views)
    for k, view in enumerate(views):
        if view.size:
            np.testing.assert_array_equal(through(made, k, view), view)
    if all(v.size for v in views) and np.shares_memory(*views):
        assert made.params[0].pointers[0].buffer == made.params[1].pointers[0].buffer
