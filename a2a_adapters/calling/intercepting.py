"""Interceptors of calls to remote agents."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from a2a_adapters.contract.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_adapters.calling.reply import AgentReply
    from a2a_adapters.contract.parts import JSON, Part


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteCall:
    """A call of a remote agent, as interceptors see it.

    Interceptors may replace the parts, the metadata and the headers.

    Attributes:
        agent: The name of the agent in its `Fleet`, otherwise its URL.
        parts: The message; empty if an earlier task is read.
        context_id: The conversation; "" for a new one.
        task_id: The task that is answered or read; "" for a new one.
        metadata: The metadata of the message, with the chosen skill as `skill_id`.
        headers: Headers of the requests, see `SendOptions`.
    """

    agent: str
    parts: Sequence[Part] = ()
    context_id: str = ""
    task_id: str = ""
    metadata: Mapping[str, JSON] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


class Interceptor:
    """Base class for code that runs before and after calls; see `RemoteOptions.interceptors`.

    It is shared by all calls, conversations and event loops. An exception ends the call.
    """

    async def before(self, call: RemoteCall) -> RemoteCall:
        """Return the call to make, before a message is sent."""
        return call

    async def after(self, call: RemoteCall, reply: AgentReply) -> AgentReply:  # noqa: ARG002
        """Return the reply that the caller gets.

        Tasks that failed raise `RemoteTaskError` instead. Text that was streamed before stays.
        """
        return reply


def check_interceptors(interceptors: Sequence[object]) -> None:
    """Raise `ConfigurationError` unless all of them are interceptors."""
    for each in interceptors:
        if not isinstance(each, Interceptor):
            raise ConfigurationError(f"an interceptor must be an Interceptor(), not {each!r}")


async def before_call(interceptors: Sequence[Interceptor], call: RemoteCall) -> RemoteCall:
    """Return the call as the interceptors, in their order, leave it."""
    for each in interceptors:
        call = await each.before(call)
    return call


async def after_call(
    interceptors: Sequence[Interceptor], call: RemoteCall, reply: AgentReply
) -> AgentReply:
    """Return the reply as the interceptors, the last one first, leave it."""
    received = reply
    for each in reversed(interceptors):
        reply = await each.after(call, reply)
    if reply.text != received.text:
        return replace(reply, is_corrected=True)
    return reply
