"""Streams a graph through the stream transformers of its middleware, which check text on its way.

Only LangGraph's streaming protocol v3, which is experimental, applies them
(https://docs.langchain.com/oss/python/langgraph/streaming). This module converts it to what
`astream` yields.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any, ClassVar

from langchain_core._api import suppress_langchain_beta_warning
from langchain_core.messages import AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk
from langgraph.stream import StreamTransformer

_MODES = ("updates", "values", "custom")


class _Modes(StreamTransformer):
    """Requests the modes that no transformer of LangGraph's own requests."""

    required_stream_modes: ClassVar[tuple[str, ...]] = _MODES

    def init(self) -> dict[str, Any]:
        """Return no projections."""
        return {}

    def process(self, event: object) -> bool:  # noqa: ARG002 - keeps all
        """Keep the event."""
        return True


async def checked_stream(
    graph: Any, given: object, config: Any, options: Mapping[str, Any]
) -> AsyncGenerator[tuple[tuple[str, ...], str, Any]]:
    """Run a graph and yield the namespace, the mode and the data of each step, as `astream` does.

    The arguments are those of `astream`; `options` are the remaining ones.
    """
    with suppress_langchain_beta_warning():
        run = await graph.astream_events(
            given, config, version="v3", transformers=[_Modes], **options
        )
    chunks = _Chunks()
    async with run:
        async for event in run:
            method, params = event["method"], event["params"]
            namespace = tuple(params["namespace"])
            if method == "messages":
                message, metadata = params["data"]
                if isinstance(message, Mapping):
                    for chunk in chunks.of(message, str(metadata.get("run_id"))):
                        yield namespace, method, (chunk, metadata)
            elif method in _MODES:
                yield namespace, method, params["data"]
                if not namespace and params.get("interrupts"):
                    yield namespace, "updates", {"__interrupt__": params["interrupts"]}


class _Chunks:
    """Converts the events of messages to chunks."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._sent: dict[tuple[str, int], str] = {}

    def of(self, event: Mapping[str, Any], run_id: str) -> Iterator[AIMessageChunk]:
        """Yield the chunks of one event of the model's run."""
        match event:
            case {"event": "message-start", "id": str(message_id)}:
                self._ids[run_id] = message_id
            case {"event": "content-block-start", "content": {"type": "tool_call"} as call}:
                called = tool_call_chunk(name=call["name"], id=call["id"], index=event["index"])
                yield self._chunk(run_id, "", tool_call_chunks=[called])
            case {"event": "content-block-delta", "delta": {"type": "text-delta", "text": text}}:
                block = run_id, event["index"]
                self._sent[block] = self._sent.get(block, "") + text
                yield self._chunk(run_id, text)
            case {"event": "content-block-finish", "content": {"type": "text", "text": text}}:
                sent = self._sent.pop((run_id, event["index"]), "")
                yield self._chunk(run_id, text.removeprefix(sent))
            case {"event": "message-finish"}:
                yield self._chunk(run_id, "", chunk_position="last")

    def _chunk(self, run_id: str, text: str, **fields: Any) -> AIMessageChunk:
        return AIMessageChunk(content=text, id=self._ids.get(run_id, run_id), **fields)
