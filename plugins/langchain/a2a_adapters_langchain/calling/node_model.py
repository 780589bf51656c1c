"""The chat model inside a graph's node."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from typing_extensions import override

from a2a_adapters import Question
from a2a_adapters_langchain.calling.chat_model import A2AChatModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.outputs import ChatGenerationChunk, ChatResult

    from a2a_adapters import AgentReply, RemoteEvent
    from a2a_adapters_langchain.calling.stop import StopCutter


class NodeModel(A2AChatModel):
    """Keeps the agent's questions out of its text: the node asks them by an interrupt.

    A question is in `response_metadata["question"]` only; whoever reads the graph's tokens would
    be asked twice otherwise.
    """

    @override
    def _chunk(self, event: RemoteEvent, cutter: StopCutter) -> ChatGenerationChunk | None:
        return None if isinstance(event, Question) else super()._chunk(event, cutter)

    @override
    def _result(self, reply: AgentReply, stop: Sequence[str] | None) -> ChatResult:
        text = reply.text.removesuffix(reply.question).removesuffix("\n")
        return super()._result(replace(reply, text=text) if reply.question else reply, stop)
