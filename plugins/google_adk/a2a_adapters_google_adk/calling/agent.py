"""A remote agent as an agent."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Unpack

from google.adk.agents.base_agent import BaseAgent
from google.adk.events.event import Event
from google.genai.types import Part as GenaiPart
from pydantic import PrivateAttr

from a2a_adapters import AgentReply, Question, RemoteAgent, Text, TextDelta
from a2a_adapters.plugin import ToolDescription, dialogue
from a2a_adapters_google_adk.calling.contents import (
    answers,
    as_content,
    as_parts,
    as_usage,
    input_call,
    words,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Sequence

    from google.adk.agents.invocation_context import InvocationContext

    from a2a_adapters import Part
    from a2a_adapters.plugin import AgentDescription, AgentOptions

_PLACE = "a2a"
"""Key in the metadata of an answer: the place in the remote conversation."""
_GO_ON = Text("Please go on.")


class A2AAgent(BaseAgent):
    """Any A2A agent as an agent: alone, as a sub-agent, as a node of a workflow, or as a tool.

    The remote agent keeps the conversation, whose place is in the session: each run sends only what
    was said since its last answer. A question asks for the user's input (`adk_request_input`), so
    that agents after this one wait; the response to that, or the next message of the user if this
    agent runs again, answers it. One agent serves any number of sessions.

    Args:
        agent: The agent, or its URL.
        about: The description, from which other agents choose. Without it the agent's card is read
            now, by a blocking call; in async code, pass `await RemoteAgent(...).describe()`.
        **options: Options for an agent given by its URL; see `AgentOptions`.

    Raises:
        ConfigurationError: The URL is invalid.
        RemoteAgentError: The card cannot be read.
    """

    _agent: RemoteAgent = PrivateAttr()

    def __init__(
        self,
        agent: RemoteAgent | str,
        about: AgentDescription | None = None,
        **options: Unpack[AgentOptions],
    ) -> None:
        remote = RemoteAgent.of(agent, **options)
        described = ToolDescription.of_agent(about or remote.describe_sync())
        super().__init__(
            name=described.name, description=described.description, rerun_on_resume=True
        )
        self._agent = remote

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event]:
        """Yield the agent's answer (called by the framework). Leaving it early cancels its task.

        Raises:
            RemoteAgentError: The agent does not answer, or its task failed.
        """
        heard = [event for event in ctx.session.events if _is_heard(event, ctx.branch)]
        place, new = self._since_answer(heard)
        answer = self._agent.stream(
            _parts(new), context_id=place.get("context_id", ""), task_id=place.get("task_id", "")
        )
        async with aclosing(answer) as events:
            async for event in events:
                if isinstance(event, Question):
                    continue  # it is part of the call
                if isinstance(event, TextDelta):
                    yield self._event(ctx, content=words(event.text), partial=True)
                elif isinstance(event, AgentReply):
                    content, asked = as_content(event), {}
                    if event.is_question:
                        call = input_call(event)
                        (content.parts or []).append(GenaiPart(function_call=call))
                        asked = {"long_running_tool_ids": {call.id}}
                    yield self._event(
                        ctx,
                        content=content,
                        usage_metadata=as_usage(event),
                        custom_metadata={_PLACE: _place(event)},
                        **asked,
                    )

    def _since_answer(self, events: Sequence[Event]) -> tuple[dict[str, str], Sequence[Event]]:
        """Return the place after the last answer in the session, and the events since."""
        for position in range(len(events) - 1, -1, -1):
            event = events[position]
            place = (event.custom_metadata or {}).get(_PLACE)
            if place and event.author == self.name:
                return place, events[position + 1 :]
        return {}, events

    def _event(self, ctx: InvocationContext, **content: Any) -> Event:
        return Event(
            author=self.name, invocation_id=ctx.invocation_id, branch=ctx.branch, **content
        )


def _is_heard(event: Event, branch: str | None) -> bool:
    """Return whether an event belongs to the agent's own branch, rather than a parallel one."""
    return not event.branch or f"{branch}.".startswith(f"{event.branch}.")


def _place(reply: AgentReply) -> dict[str, str]:
    """Return the place in the conversation after an answer: its context, and an open question."""
    task_id = reply.task_id if reply.is_question else ""
    return {"context_id": reply.context_id, "task_id": task_id}


def _said(event: Event) -> Iterator[Part]:
    """Yield the text of an event, and the user's answers to questions."""
    parts = event.content.parts if event.content else None
    yield from as_parts(parts)
    for _, answer in answers(parts):
        yield answer


def _parts(events: Sequence[Event]) -> list[Part]:
    """Convert the texts to one message: a dialogue, unless all of them are the user's."""
    turns = [
        ("User" if event.author == "user" else event.author, list(_said(event))) for event in events
    ]
    return dialogue([turn for turn in turns if turn[1]]) or [_GO_ON]
