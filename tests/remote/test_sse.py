"""Streams are read the same however the network cuts them."""

from __future__ import annotations

import asyncio
import json

from hypothesis import example, given
from hypothesis import strategies as st

from a2a_adapters.remote.sse import event_data, without_false_line_ends

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
    st.booleans(),
)
@example("\r", [164], False)  # just after the line that ends the last event
def test_events_survive_every_cut(line_end, cuts, escaped):
    async def read():
        chunks = pieces(written(line_end), cuts)
        source = without_false_line_ends(chunks) if escaped else chunks
        return [json.loads(data) async for data in event_data(source)]

    assert asyncio.run(read()) == EVENTS


@given(st.text("a\u2028\u2029\u0085\u2027\u00e2\u00c2\u0084"), st.lists(st.integers(0, 60)))
def test_no_false_line_end_is_left_and_nothing_else_is_changed(text, cuts):
    async def read():
        return b"".join([c async for c in without_false_line_ends(pieces(text.encode(), cuts))])

    escaped = asyncio.run(read()).decode()
    assert len(escaped.splitlines()) <= 1
    assert json.loads(f'"{escaped}"') == text
