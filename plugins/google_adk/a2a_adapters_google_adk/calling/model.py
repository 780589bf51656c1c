"""A remote agent as a model."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Unpack

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import request_input  # type: ignore[attr-defined]
from google.genai.types import Part as GenaiPart
from pydantic import PrivateAttr

from a2a_adapters import AgentReply, ConfigurationError, Question, RemoteAgent, Text, TextDelta
from a2a_adapters.plugin import dialogue
from a2a_adapters_google_adk.calling.contents import (
    answers,
    as_content,
    as_parts,
    as_usage,
    input_call,
    words,
)
from a2a_adapters_google_adk.serving.questions import INPUT

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from google.adk.models.llm_request import LlmRequest

    from a2a_adapters import Part
    from a2a_adapters.plugin import AgentOptions

_GO_ON = Text("Please go on.")
_IDENTITY = "You are an agent. Your internal name is "
_SPEAKERS = {"user": "User", "model": "Assistant"}


class A2AModel(BaseLlm):
    """Any A2A agent as a model: `LlmAgent(model=A2AModel("http://localhost:8000"), ...)`.

    The framework gives a model no conversation id, so each call sends all messages in a new
    conversation; `A2AAgent` keeps conversations. A question asks for the user's input
    (`adk_request_input`), whose response answers it. One model serves any number of agents.

    The remote agent has its own tools and accepts none. Data of an answer is given as text.

    Args:
        agent: The agent, or its URL.
        **options: Options for an agent given by its URL; see `AgentOptions`.
    """

    _agent: RemoteAgent = PrivateAttr()

    def __init__(self, agent: RemoteAgent | str, **options: Unpack[AgentOptions]) -> None:
        remote = RemoteAgent.of(agent, **options)
        super().__init__(model=remote.name)
        self._agent = remote

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse]:
        """Yield the agent's answer. Leaving it early cancels the remote task.

        Raises:
            ConfigurationError: The agent of the framework has tools.
            RemoteAgentError: The agent does not answer.
        """
        if llm_request.tools_dict or llm_request.config.response_schema:
            raise ConfigurationError(
                "a remote agent has its own tools and takes none: remove the tools, the "
                "sub-agents and the output_schema of the agent whose model is an A2AModel"
            )
        parts, (context_id, task_id) = _answer(llm_request) or (_parts(llm_request), ("", ""))
        answer = self._agent.stream(parts, context_id=context_id, task_id=task_id)
        async with aclosing(answer) as events:
            async for event in events:
                if isinstance(event, Question):
                    continue  # it is part of the call
                if isinstance(event, TextDelta) and stream:
                    yield LlmResponse(content=words(event.text), partial=True)
                elif isinstance(event, AgentReply):
                    content = as_content(event)
                    if event.is_question:
                        ids = {"context_id": event.context_id, "task_id": event.task_id}
                        call = input_call(event, **ids)
                        (content.parts or []).append(GenaiPart(function_call=call))
                        llm_request.tools_dict[INPUT] = request_input  # so that the run waits
                    yield LlmResponse(content=content, usage_metadata=as_usage(event))


def _answer(llm_request: LlmRequest) -> tuple[list[Part], tuple[str, str]] | None:
    """Return the user's answer to a question, if it comes last, and the question's place."""
    contents = llm_request.contents
    given = dict(answers(contents[-1].parts if contents else None))
    for part in (part for content in reversed(contents) for part in content.parts or ()):
        if (call := part.function_call) and call.id in given:
            asked = call.args or {}
            return [given[call.id]], (asked.get("context_id", ""), asked.get("task_id", ""))
    return None


def _parts(llm_request: LlmRequest) -> list[Part]:
    """Convert messages to the parts of one message, a dialogue unless the user wrote them all."""
    turns = [
        (_SPEAKERS.get(content.role or "", "User"), list(as_parts(content.parts)))
        for content in llm_request.contents
    ]
    if instruction := _instruction(llm_request.config.system_instruction):
        turns.insert(0, ("System", [Text(instruction)]))
    return dialogue([turn for turn in turns if turn[1]]) or [_GO_ON]


def _instruction(given: object) -> str:
    """Return the instruction of the framework's agent, without the identity that it generates."""
    paragraphs = given.split("\n\n") if isinstance(given, str) else []
    return "\n\n".join(each for each in paragraphs if not each.startswith(_IDENTITY))
