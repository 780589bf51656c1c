"""`RemoteAgent`: any A2A agent, called from async or blocking code."""

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
    from collections.abc import AsyncGenerator, Generator, Mapping
    from typing import Unpack

    import httpx
    from a2a.types import Task
    from pydantic_core import CoreSchema

    from a2a_adapters.calling.options import SendOptions
    from a2a_adapters.contract.adapter import AgentDescription

__all__ = ["ListedAgent", "MessageInput", "RemoteAgent", "RemoteEvent"]


class RemoteAgent:
    """An A2A agent of protocol 1.0 or 0.3, over JSON-RPC, HTTP+JSON or gRPC.

    Connects on first use. One object serves any number of threads, event loops and
    conversations at once.

    Args:
        agent: The agent's URL, its card's URL, its card, or `HOST#NAME` for the agent of that name
            in the host's catalog. Hosts that a given card names are
            trusted as if they had been typed; those of a fetched card pass
            `RemoteOptions.outbound` unless they are the agent's own.
        auth: Credentials: `BearerAuth`, `ApiKeyAuth`, or any other `httpx.Auth`.
        options: Limits and choices.
        named_by: The URL of who named this agent, if that is not the developer: on other hosts than
            that one it gets no credentials, and `RemoteOptions.outbound` applies.

    Raises:
        ConfigurationError: The URL is none.
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
        """Return the agent of a URL, with `AgentOptions`; an agent is its own, and has its own.

        Raises:
            ConfigurationError: The URL is none, a number is out of range, or there are options
                for what is an agent already.
        """
        given = {"timeout": timeout, "max_retries": max_retries, "headers": headers}
        names = [name for name, value in given.items() if value is not None]
        if not names:  # pydantic refuses what is neither
            return cls(agent) if isinstance(agent, str) else agent
        if isinstance(agent, RemoteAgent):
            raise ConfigurationError(
                f"{', '.join(names)}: a RemoteAgent has its own; make it with "
                "options=RemoteOptions(timeout=..., retries=...) and auth=HeadersAuth(...)"
            )
        options = RemoteOptions()
        if timeout is not None:
            options = replace(options, timeout=checked_timeout(timeout))
        if max_retries is not None:
            if max_retries < 0:
                raise ConfigurationError(f"max_retries is a number from 0 on, not {max_retries}")
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
        """Return the agents that a host lists in its AI Catalog, or the only one that it is.

        Args:
            host: The host's URL, or that of a catalog, which ends in `.json`.
            auth: Credentials, for agents at the host itself.
            options: Limits and choices; hosts that the catalog names pass `outbound`.

        Raises:
            ConfigurationError: The URL is none.
            RemoteAgentError: The host has no agents, or they cannot be had.
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
        """Let fields of pydantic's models hold an agent, given as such or by its URL."""
        is_agent = core_schema.is_instance_schema(cls)
        return core_schema.no_info_before_validator_function(
            cls.of,
            is_agent,
            serialization=core_schema.plain_serializer_function_ser_schema(
                attrgetter("name"), when_used="json"
            ),
        )

    def __repr__(self) -> str:
        return f"RemoteAgent({self.name!r})"

    def __deepcopy__(self, memo: object) -> Self:
        # Frameworks copy what models and tools hold; connections and conversations are shared.
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a RemoteAgent holds connections and cannot be pickled; pickle its URL")

    async def card(self) -> AgentCard:
        """Return the agent's card, as it wrote it. Trust it no more than its answers.

        Raises:
            RemoteAgentError: It cannot be had.
        """
        return (await self._connections.get()).card

    async def describe(self) -> AgentDescription:
        """Return what of the card a language model may see, clipped.

        Raises:
            RemoteAgentError: There is no card to be had.
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
        """Send a message and return the whole answer.

        Args:
            message: What to send.
            context_id: The conversation it belongs to, as an earlier reply named it; empty
                begins one.
            task_id: The task it answers or adds to.
            **options: The message's metadata, how long its answer may take, headers; see
                `SendOptions`.

        Raises:
            InvalidInputError: The message cannot be expressed in the protocol.
            RemoteTaskError: The task failed, was rejected or was cancelled.
            RemoteAgentError: There is no answer for another reason.
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
        """Send a message; yield the answer as it comes and last the whole `AgentReply`.

        Closing the stream before its end cancels the remote task. For the arguments and
        errors see `send`.
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
        """Return a task as it now stands, whatever its state.

        Raises:
            RemoteAgentError: The agent does not know it, or does not answer.
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
        """Stop the work on a task.

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
        """Return a conversation.

        Args:
            key: The caller's own name for it: the same key gives the same conversation, as long
                as this object lives and `RemoteOptions.conversations` allows. It is not sent.
            context_id: The agent's name for it, to go on with an earlier one. With a key it
                counts if no conversation of that key has begun.

        Without arguments it is a new one.
        """
        if key is None and not context_id:
            return Conversation(self._messenger)
        return self._conversations.get(key, context_id)

    async def aclose(self) -> None:
        """Close the connections; the next call opens them again."""
        await self._connections.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def describe_sync(self) -> AgentDescription:
        """`describe` from blocking code."""
        return blocking.run(self.describe())

    def send_sync(
        self,
        message: MessageInput,
        *,
        context_id: str = "",
        task_id: str = "",
        **options: Unpack[SendOptions],
    ) -> AgentReply:
        """`send` from blocking code."""
        return blocking.run(self.send(message, context_id=context_id, task_id=task_id, **options))

    def stream_sync(
        self,
        message: MessageInput,
        *,
        context_id: str = "",
        task_id: str = "",
        **options: Unpack[SendOptions],
    ) -> Generator[RemoteEvent]:
        """`stream` from blocking code."""
        return blocking.iterate(
            self.stream(message, context_id=context_id, task_id=task_id, **options)
        )

    def get_task_sync(self, task_id: str) -> AgentReply:
        """`get_task` from blocking code."""
        return blocking.run(self.get_task(task_id))

    def cancel_sync(self, task_id: str) -> AgentReply:
        """`cancel` from blocking code."""
        return blocking.run(self.cancel(task_id))

    def close(self) -> None:
        """`aclose` from blocking code."""
        blocking.run(self.aclose())


@dataclass(frozen=True, slots=True)
class ListedAgent:
    """An agent that a host lists. What is said of it is the host's word: trust it no further.

    Attributes:
        name: Its name, clipped.
        description: What it does, clipped.
        address: Where its card is; where it is itself, if the host says the card at once.
        agent: The agent. Nothing of it has been fetched.
    """

    name: str
    description: str
    address: str
    agent: RemoteAgent


def _as_reply(task: Task) -> AgentReply:
    answer = Answer()
    answer.fold_task(task)
    return answer.finish()[1]
