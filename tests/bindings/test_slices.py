"""The slices of a response."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from a2a_adapters.bindings.http import SLICE_BYTES, slices

SIZES = st.integers(0, 200) | st.integers(SLICE_BYTES - 2, 2 * SLICE_BYTES + 2)


@given(st.lists(SIZES, max_size=12))
def test_slices_are_the_pieces_in_order_and_never_too_large(sizes):
    pieces = [bytes([number % 256]) * size for number, size in enumerate(sizes)]
    found = list(slices(pieces))
    assert b"".join(found) == b"".join(pieces)
    assert all(len(piece) <= SLICE_BYTES for piece in found)


def test_small_pieces_are_joined():
    assert [len(piece) for piece in slices([b"x" * 100] * 1000)] == [65500, 34500]
