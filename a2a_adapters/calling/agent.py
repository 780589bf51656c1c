"""`RemoteAgent` calls any A2A agent from async or blocking code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, NoReturn, Self

from a2a.types import AgentCard, CancelTaskRequest, GetTaskRequest
from pydantic_core import core_schema

from a2a_adapters.calling.answer import Answer
from a2a_adapters.calling.auth import HeadersAuth
from a2a_adapters.calling.card import agent_url, describe
from a2a_adapters.calling.catalog import read_catalog
from a2a_adapters.calling.connection import Connections
from a2a_adapters.calling.conversation import Conversation, Conversations
from a2a_adapters.calling.failures import reraise, retried, translate
from a2a_adapters.calling.messenger import MessageInput, Messenger
from a2a_adapters.calling.options import RemoteOptions, checked_timeout
from a2a_adapters.calling.reply import AgentReply, RemoteEvent
from a2a_adapters.concurrency import blocking
from a2a_adapters.concurrency.threads import computed_if_large
from a2a_adapters.contract.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from typing import Unpack

    import httpx
    from a2a.types import Task
    from pydantic_core import CoreSchema

    from a2a_adapters.calling.options import SendOptions
    from a2a_adapters.contract.adapter import AgentDescription


class RemoteAgent:
    """A remote agent that speaks A2A 1.0 or 0.3 over JSON-RPC, HTTP+JSON or gRPC.

    It connects on first use. One object can be shared by threads, event loops and conversations.

    Args:
        agent: The URL of the agent or of its card, the card itself, or `HOST#NAME` for an agent in
            the host's catalog. A given card is trusted: calls go to the hosts that it names. Hosts
            named by a fetched card are subject to `RemoteOptions.outbound`, except the agent's own.
        auth: Credentials: `BearerAuth`, `ApiKeyAuth`, or any other `httpx.Auth`.
        options: Limits and preferences.
        named_by: The URL of an untrusted source that named this agent, such as a catalog. Other
            hosts get no credentials and are subject to `RemoteOptions.outbound`.

    Raises:
        ConfigurationError: The URL is invalid.
    """

    def __init__(
        self,
        agent: str | AgentCard,
        *,
        auth: httpx.Auth | None = None,
        options: RemoteOptions | None = None,
        named_by: str | None = None,
    ) -> None:
        options = options or RemoteOptions()
        url = agent_url(agent) if isinstance(agent, str) else None
        card = agent if isinstance(agent, AgentCard) else None
        self.name = str(url) if url else agent.name if isinstance(agent, AgentCard) else ""
        self._retries = options.retries
        origin = agent_url(named_by) if named_by else url
        self._connections = Connections(url, card, auth, options, origin)
        self._messenger = Messenger(self._connections, options)
        self._conversations = Conversations(self._messenger, options.conversations)

    @classmethod
    def of(
        cls,
        agent: str | RemoteAgent,
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> RemoteAgent:
        """Return the agent at a URL, with `AgentOptions`; an existing agent is returned unchanged.

        Raises:
            ConfigurationError: The URL is invalid, a number is out of range, or options are given
                for an existing agent.
        """
        given = {"timeout": timeout, "max_retries": max_retries, "headers": headers}
        names = [name for name, value in given.items() if value is not None]
        if not names:  # pydantic refuses any other type
            return cls(agent) if isinstance(agent, str) else agent
        if isinstance(agent, RemoteAgent):
            raise ConfigurationError(
                f"{', '.join(names)}: a RemoteAgent has its own; create it with "
                "options=RemoteOptions(timeout=..., retries=...) and auth=HeadersAuth(...)"
            )
        options = RemoteOptions()
        if timeout is not None:
            options = replace(options, timeout=checked_timeout(timeout))
        if max_retries is not None:
            if max_retries < 0:
                raise ConfigurationError(f"max_retries must be 0 or more, not {max_retries}")
            options = replace(options, retries=max_retries)
        return cls(agent, auth=HeadersAuth(headers) if headers else None, options=options)

    @classmethod
    async def discover(
        cls,
        host: str,
        *,
        auth: httpx.Auth | None = None,
        options: RemoteOptions | None = None,
    ) -> list[ListedAgent]:
        """Return the agents in a host's AI Catalog, or the single agent at the host.

        Args:
            host: The URL of the host, or of a catalog if it ends in `.json`.
            auth: Credentials for agents on the host itself.
            options: Limits and preferences; `outbound` applies to hosts named by the catalog.

        Raises:
            ConfigurationError: The URL is invalid.
            RemoteAgentError: The host has no agents, or they cannot be fetched.
        """
        options = options or RemoteOptions()
        found = await read_catalog(host, auth, options)
        if found is None:
            only = cls(host, auth=auth, options=options)
            about = await only.describe()
            return [ListedAgent(about.name, about.description, only.name, only)]
        return [
            ListedAgent(
                each.name,
                each.description,
                each.address,
                cls(each.card or each.address, auth=auth, options=options, named_by=host),
            )
            for each in found
        ]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        """Let fields of pydantic models hold an agent, given as an object or a URL."""
        return core_schema.no_info_before_validator_function(
            cls.of,
            core_schema.is_instance_schema(cls),
            serialization=core_schema.plain_serializer_function_ser_schema(
                attrgetter("name"), when_used="json"
            ),
        )

    def __repr__(self) -> str:
        return f"RemoteAgent({self.name!r})"

    def __deepcopy__(self, memo: object) -> Self:
        return self  # frameworks copy models and tools, but connections are shared

    def __reduce__(self) -> NoReturn:
        raise TypeError("a RemoteAgent holds connections and cannot be pickled; pickle its URL")

    async def card(self) -> AgentCard:
        """Return the agent's unmodified card, which is untrusted input.

        Raises:
            RemoteAgentError: The card cannot be fetched.
        """
        return (await self._connections.get()).card

    async def describe(self) -> AgentDescription:
        """Return the part of the card that a language model may see, shortened.

        Raises:
            RemoteAgentError: The card cannot be fetched.
        """
        return describe(await self.card())

    async def send(
        self,
        message: MessageInput,
        *,
        context_id: str = "",
        task_id: str = "",
        **options: Unpack[SendOptions],
    ) -> AgentReply:
        """Send a message and return the complete answer.

        Args:
            message: A text, a part or several parts.
            context_id: The conversation, from an earlier reply; empty starts a new one.
            task_id: The task that the message answers or continues.
            **options: Metadata, timeout and headers, see `SendOptions`.

        Raises:
            InvalidInputError: The message cannot be encoded.
            RemoteTaskError: The task failed, was rejected or was cancelled.
            RemoteAgentError: The call failed for another reason.
        """
        reply = None
        async for event in self.stream(message, context_id=context_id, task_id=task_id, **options):
            reply = event
        assert isinstance(reply, AgentReply)  # noqa: S101 - a stream without one raises
        return reply

    async def stream(
        self,
        message: MessageInput,
        *,
        context_id: str = "",
        task_id: str = "",
        **options: Unpack[SendOptions],
    ) -> AsyncGenerator[RemoteEvent]:
        """Send a message, yield the answer as it arrives, and finally the complete `AgentReply`.

        Closing the stream early cancels the remote task. Arguments and errors are those of `send`.
        """
        exchange = await self._messenger.begin(
            message, context_id=context_id, task_id=task_id, **options
        )
        events = exchange.events()
        try:
            async for event in events:
                yield event
        finally:
            await events.aclose()

    async def get_task(self, task_id: str) -> AgentReply:
        """Return the current state of a task.

        Raises:
            RemoteAgentError: The agent does not know the task, or does not answer.
        """
        connection = await self._connections.get()
        try:
            task = await retried(
                lambda: connection.transport.get_task(GetTaskRequest(id=task_id)), self._retries
            )
        except Exception as error:
            reraise(error, translate(error, connection.card))
        return await computed_if_large(task.ByteSize(), _as_reply, task)

    async def cancel(self, task_id: str) -> AgentReply:
        """Cancel a task.

        Raises:
            RemoteAgentError: The task cannot be cancelled, or the agent does not answer.
        """
        connection = await self._connections.get()
        try:
            task = await connection.transport.cancel_task(CancelTaskRequest(id=task_id))
        except Exception as error:
            reraise(error, translate(error, connection.card))
        return await computed_if_large(task.ByteSize(), _as_reply, task)

    def conversation(self, key: str | None = None, *, context_id: str = "") -> Conversation:
        """Return a conversation; without arguments, a new one.

        Args:
            key: A local name. The same key returns the same conversation, within this object and
                the limit `RemoteOptions.conversations`. It is not sent.
            context_id: The agent's id of an earlier conversation to continue. With a key it is used
                only if the key's conversation has not started.
        """
        if key is None and not context_id:
            return Conversation(self._messenger)
        return self._conversations.get(key, context_id)

    async def aclose(self) -> None:
        """Close the connections; the next call reopens them."""
        await self._connections.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    describe_sync = blocking.running(describe)
    send_sync = blocking.running(send)
    stream_sync = blocking.iterating(stream)
    get_task_sync = blocking.running(get_task)
    cancel_sync = blocking.running(cancel)
    close = blocking.running(aclose)


@dataclass(frozen=True, slots=True)
class ListedAgent:
    """An agent in a host's catalog. Its description is untrusted input from the host.

    Attributes:
        name: The name, shortened.
        description: The description, shortened.
        address: The URL of the card, or of the agent if the catalog contains the card.
        agent: The agent, not yet connected.
    """

    name: str
    description: str
    address: str
    agent: RemoteAgent


def _as_reply(task: Task) -> AgentReply:
    answer = Answer()
    answer.fold_task(task)
    return answer.finish()[1]
