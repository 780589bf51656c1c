"""A2A agents as deployments."""

from __future__ import annotations

from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from a2a_adapters import (
    AgentReply,
    BearerAuth,
    Output,
    Question,
    RemoteAgent,
    RemoteAgentError,
    RemoteConnectionError,
    RemoteOptions,
    RemoteTaskError,
    RemoteTimeoutError,
    Text,
    TextDelta,
)
from a2a_adapters.dialects import LaterText, answer_of, artifact_text, is_corrected, passed_on
from a2a_adapters.plugin import AnswerText
from a2a_adapters_router.calls import (
    Chunk,
    Corrected,
    Ended,
    FailedCallError,
    OtherParts,
    Usage,
    Used,
    text_of,
)
from a2a_adapters_router.deployment import resolved

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from a2a_adapters import Part
    from a2a_adapters_router.calls import Message, News, Prompt
    from a2a_adapters_router.deployment import Deployment

_CHARACTERS_PER_TOKEN = 4
"""Agents have no tokenizer: a rule of thumb for English."""


class Agent:
    """A remote agent, called statelessly for each message.

    Args:
        deployment: Its settings.
        timeout: Time limit of a call in seconds.

    Raises:
        ConfigurationError: The variable of its token is unset, or its URL is invalid.
    """

    def __init__(self, deployment: Deployment, timeout: float) -> None:
        assert deployment.agent is not None  # noqa: S101 - it has no model
        auth = BearerAuth(str(resolved(deployment.token))) if deployment.token else None
        # The router decides on retries.
        options = RemoteOptions(timeout=timeout, retries=0)
        self._metadata = deployment.metadata
        self._timeout = timeout
        self._agent = RemoteAgent(deployment.agent, auth=auth, options=options)

    def lacks(self, prompt: Prompt) -> str:
        """Say which parameters of a prompt agents do not support; "" if there are none."""
        if not prompt.params:
            return ""
        return f"agents do not support {', '.join(sorted(prompt.params))}"

    def count(self, prompt: Prompt) -> int:
        """Return the approximate number of tokens in a prompt's text."""
        return sum(len(text_of(each)) for each in prompt.messages) // _CHARACTERS_PER_TOKEN

    async def call(self, prompt: Prompt, max_tokens: int) -> AsyncGenerator[News]:  # noqa: ARG002
        """Send messages as text and files, and yield the answer.

        Raises:
            FailedCallError: The agent does not answer, or asks a question.
        """
        sent: list[Part] = [Text(_text(prompt.messages)), *prompt.files]
        news = self._agent.stream(sent, metadata=self._metadata)
        said = ""
        try:
            async with aclosing(news) as events:
                async for event in events:
                    if isinstance(event, Question | LaterText):
                        continue  # it is part of the reply, in its place
                    if isinstance(event, TextDelta):
                        said += event.text
                        yield Chunk(event.text)
                    elif isinstance(event, AgentReply):
                        await self._give_up(event)
                        for each in (*_answer(event, said), *_end(event)):
                            yield each
        except RemoteAgentError as error:
            if isinstance(error, RemoteTaskError):
                text = artifact_text(error.reply.artifacts)
                if is_corrected(said, text):
                    yield Corrected(text)
            raise _failure(error, self._timeout) from error

    async def _give_up(self, reply: AgentReply) -> None:
        """Cancel a task that waits for input, which a router cannot provide."""
        if reply.is_question and reply.task_id:
            with suppress(RemoteAgentError):
                await self._agent.cancel(reply.task_id)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._agent.aclose()


def _text(messages: Sequence[Message]) -> str:
    """Return messages as one text; in a dialogue, each starts with its role."""
    if len(messages) == 1:
        return text_of(messages[0])
    return "\n\n".join(f"{each['role'].capitalize()}: {text_of(each)}" for each in messages)


def _answer(reply: AgentReply, said: str) -> list[News]:
    """Return what an answer has beside the text that was streamed, and that again if it differs."""
    events = passed_on(answer_of(reply))
    others: list[News] = [OtherParts(each.parts) for each in events if isinstance(each, Output)]
    texts = [each.text for each in events if isinstance(each, AnswerText)]
    if texts[0] == texts[-1] or not others:  # no text is between or behind other parts
        return [*([Corrected(reply.text)] if is_corrected(said, reply.text) else []), *others]
    corrected: list[News] = [Corrected(text) for text in texts]
    return [each for pair in zip(corrected, [*others, None], strict=True) for each in pair if each]


def _end(reply: AgentReply) -> list[News]:
    if reply.is_question:
        raise FailedCallError("it asked a question, which a router cannot answer", is_callers=True)
    news: list[News] = [Ended("stop")]
    if usage := reply.counted_usage(__name__):
        given, made = max(0, usage.input_tokens), max(0, usage.output_tokens)
        news.append(Used(Usage(given, made)))
    return news


def _failure(error: RemoteAgentError, timeout: float) -> FailedCallError:
    match error:
        case RemoteTimeoutError():
            return FailedCallError(f"no answer within {timeout:g} s", is_passing=True)
        case RemoteConnectionError():
            return FailedCallError("the connection failed", is_passing=True)
        case RemoteTaskError(state="rejected"):
            reason = "its task ended as rejected"
            return FailedCallError(reason, is_callers=True, rejection=str(error))
        case RemoteTaskError(state=state):
            return FailedCallError(f"its task ended as {state}")
        case _:
            return FailedCallError(f"it refused ({type(error).__name__.removesuffix('Error')})")
