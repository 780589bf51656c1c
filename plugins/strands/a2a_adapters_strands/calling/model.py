"""A remote agent as a model."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Unpack

from strands.interrupt import Interrupt, InterruptException
from strands.models import Model

from a2a_adapters import (
    AgentReply,
    ConfigurationError,
    Data,
    File,
    Part,
    Question,
    RemoteAgent,
    Text,
    TextDelta,
)
from a2a_adapters.plugin import as_json, dialogue
from a2a_adapters_strands.serving.adapter import REQUEST_KEY
from a2a_adapters_strands.serving.results import media_type_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from strands import Agent
    from strands.types.content import Messages
    from strands.types.streaming import StreamEvent

    from a2a_adapters.plugin import AgentOptions

_STATE = "a2a_question:{}"
"""Key in the Strands agent's state: the place in the conversation at which a remote agent asked."""
_GO_ON = Text("Please go on.")
_SPEAKERS = {"user": "User", "assistant": "Assistant"}


class A2AModel(Model):
    """Any A2A agent as a model: `Agent(model=A2AModel("http://localhost:8000"))`.

    The remote agent keeps the conversation, whose ids are part of the Strands agent's state: each
    call sends only the messages after the last answer. In a served agent or team, a question
    interrupts the run, so that the caller answers it. Elsewhere, and in an agent that is a tool of
    another, it is the answer, and the next message answers it. One model serves any number of
    agents.

    The agent has its own tools and accepts none. Data of an answer is given as text.

    Args:
        agent: The agent, or its URL.
        **options: Options for an agent given by its URL; see `AgentOptions`.
    """

    def __init__(self, agent: RemoteAgent | str, **options: Unpack[AgentOptions]) -> None:
        self._agent = RemoteAgent.of(agent, **options)

    def get_config(self) -> dict[str, Any]:
        """Return the agent's address, as the model's id."""
        return {"model_id": self._agent.name}

    def update_config(self, **model_config: Any) -> None:
        """Refuse settings, because a remote agent has none.

        Raises:
            ConfigurationError: There is a setting.
        """
        if model_config:
            raise ConfigurationError(f"a remote agent has no setting {min(model_config)}")

    def structured_output(self, *_: Any, **__: Any) -> Any:
        """Refuse the framework's former way of structured output.

        Raises:
            ConfigurationError: Always.
        """
        raise ConfigurationError("a remote agent has no structured output")

    async def stream(
        self,
        messages: Messages,
        tool_specs: list[Any] | None = None,
        system_prompt: str | None = None,
        *,
        model_state: dict[str, Any] | None = None,
        invocation_state: dict[str, Any] | None = None,
        **_: Any,
    ) -> AsyncGenerator[StreamEvent]:
        """Yield the agent's answer. Leaving it early cancels the remote task.

        Raises:
            ConfigurationError: The Strands agent has tools.
            InterruptException: The agent asks the caller of a served agent.
            RemoteAgentError: The agent does not answer.
        """
        if tool_specs:
            raise ConfigurationError(
                "a remote agent has its own tools and takes none: remove the tools, and the "
                "structured output, of the agent whose model is an A2AModel"
            )
        state = {} if model_state is None else model_state
        place = state.get(self._agent.name, {})
        new = messages[_end_of_answers(messages) :] if place else messages
        parts = _parts(new, "" if place else system_prompt)
        questions = _Questions.of(invocation_state, self._agent.name)
        if questions and (reply := questions.answer()):
            place, parts = questions.place, reply
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        async with aclosing(self._agent.stream(parts, **place)) as events:
            async for event in events:
                if isinstance(event, Question) and questions:
                    continue  # it is that of the interrupt
                if isinstance(event, TextDelta):
                    yield _delta(event.text)
                elif isinstance(event, AgentReply):
                    if questions:
                        questions.take(event)
                    state[self._agent.name] = _place(event)
                    async for each in _rest(event):
                        yield each


class _Questions:
    """The open question of a remote agent in a run of a served Strands agent.

    The place in the remote conversation is in the Strands agent's state, as the framework drops the
    model's when a call is interrupted.

    Args:
        agent: The Strands agent.
        name: The name of the remote agent.
    """

    def __init__(self, agent: Agent, name: str) -> None:
        self._agent = agent
        self._key = _STATE.format(name)
        self.place: dict[str, str] = agent.state.get(self._key) or {}

    @classmethod
    def of(cls, invocation_state: Mapping[str, Any] | None, name: str) -> _Questions | None:
        """Return the question of a run; None if no caller could answer it."""
        run = invocation_state or {}
        return cls(run["agent"], name) if REQUEST_KEY in run and "agent" in run else None

    def answer(self) -> list[Part] | None:
        """Return the reply of the caller to the open question, if there is one."""
        interrupts = self._agent._interrupt_state.interrupts  # noqa: SLF001 - as in a hook's event
        asked = interrupts.get(self._id(self.place.get("task_id", "")))
        if asked is None or asked.response is None:
            return None
        said = asked.response
        return [Text(said) if isinstance(said, str) else Data(as_json(said))]

    def take(self, reply: AgentReply) -> None:
        """Interrupt the run if the agent asks.

        Raises:
            InterruptException: The agent asks.
        """
        if not reply.is_question:
            if self.place:
                self._agent.state.delete(self._key)
            return
        self._agent.state.set(self._key, _place(reply))
        reason = {"question": reply.question}
        raise InterruptException(Interrupt(self._id(reply.task_id), reply.task_id, reason))

    def _id(self, task_id: str) -> str:
        return f"{self._key}:{task_id}"


def _place(reply: AgentReply) -> dict[str, str]:
    """Return the place in the conversation after an answer, as options of the next message."""
    task_id = reply.task_id if reply.is_question else ""
    return {"context_id": reply.context_id, "task_id": task_id}


async def _rest(reply: AgentReply) -> AsyncGenerator[StreamEvent]:
    """Yield the end of an answer: data as text, and the usage."""
    if reply.data_text:
        yield _delta(f"\n{reply.data_text}" if reply.text else reply.data_text)
    yield {"contentBlockStop": {}}
    yield {"messageStop": {"stopReason": "end_turn"}}
    if reply.is_corrected:
        whole = "\n".join(filter(None, (reply.text, reply.data_text)))
        yield {"redactContent": {"redactAssistantContentMessage": whole}}
    if usage := reply.counted_usage(__name__):
        tokens = {
            "inputTokens": usage.input_tokens,
            "outputTokens": usage.output_tokens,
            "totalTokens": usage.total_tokens,
        }
        yield {"metadata": {"usage": tokens, "metrics": {"latencyMs": 0}}}  # type: ignore[typeddict-item]


def _delta(text: str) -> StreamEvent:
    return {"contentBlockDelta": {"delta": {"text": text}}}


def _end_of_answers(messages: Messages) -> int:
    """Return the position after the last answer."""
    for position in range(len(messages), 0, -1):
        if messages[position - 1]["role"] == "assistant":
            return position
    return 0


def _parts(messages: Sequence[Any], system_prompt: str | None) -> list[Part]:
    """Convert messages to the parts of one message, a dialogue unless the user wrote them all."""
    turns = [
        (_SPEAKERS[message["role"]], list(_converted(message["content"]))) for message in messages
    ]
    if system_prompt:
        turns.insert(0, ("System", [Text(system_prompt)]))
    return dialogue([turn for turn in turns if turn[1]]) or [_GO_ON]


def _converted(content: Sequence[Any]) -> Iterator[Part]:
    for block in content:
        if "text" in block:
            yield Text(block["text"])
        for kind in ("image", "document", "video"):
            data = block.get(kind, {}).get("source", {}).get("bytes")
            if data is not None:
                file = block[kind]
                media_type = media_type_of(file["format"])
                yield File(content=data, media_type=media_type, filename=file.get("name", ""))
