"""Streams are parsed equally, however the network splits them."""

from __future__ import annotations

import asyncio
import json

from hypothesis import example, given
from hypothesis import strategies as st

from a2a_adapters.calling.json_http import event_data

EVENTS = [{"n": 1}, {"text": "a\u2028b\u2029c\u0085d \U0001f600"}, ["x\ny"]]


def written(line_end):
    lines = [": keep-alive", ""]
    for event in EVENTS:
        first, comma, rest = json.dumps(event, ensure_ascii=False).partition(",")
        lines += ["event: message", "id: 1", f"data: {first}{comma}", f"data:{rest}", ""]
    return (line_end.join([*lines, "data: cut off"])).encode()


async def pieces(body, cuts):
    ends = sorted({min(cut, len(body)) for cut in cuts} | {len(body)})
    for begin, end in zip([0, *ends], ends, strict=False):
        yield body[begin:end]


@given(
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.integers(0, 400), max_size=40),
)
@example("\r", [164])  # just after the line that ends the last event
def test_events_survive_every_cut(line_end, cuts):
    async def read():
        chunks = pieces(written(line_end), cuts)
        return [json.loads(data) async for data in event_data(chunks)]

    assert asyncio.run(read()) == EVENTS


@given(st.lists(st.integers(0, 4), max_size=4))
def test_a_byte_order_mark_is_not_part_of_the_first_line(cuts):
    async def read():
        return [data async for data in event_data(pieces(b"\xef\xbb\xbfdata: 1\n\n", cuts))]

    assert asyncio.run(read()) == [b"1"]
