"""`RemoteAgent` calls any A2A agent from async or blocking code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, NoReturn, Self

import httpx
from a2a.types import AgentCard, ListTasksRequest
from pydantic_core import core_schema

from a2a_adapters.calling.auth import BearerAuth, HeadersAuth, check_auth
from a2a_adapters.calling.card import agent_url, describe
from a2a_adapters.calling.catalog import read_catalog
from a2a_adapters.calling.connection import Connections
from a2a_adapters.calling.conversation import Conversation, Conversations
from a2a_adapters.calling.exchange import final_reply
from a2a_adapters.calling.messenger import MessageInput, Messenger
from a2a_adapters.calling.options import RemoteOptions
from a2a_adapters.calling.reply import AgentReply, RemoteEvent
from a2a_adapters.calling.task import RemoteTask, as_reply
from a2a_adapters.concurrency import blocking
from a2a_adapters.contract.checking import check_arguments, checked_options
from a2a_adapters.contract.errors import ConfigurationError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from datetime import datetime
    from typing import Unpack

    from pydantic_core import CoreSchema

    from a2a_adapters.calling.auth import Secret
    from a2a_adapters.calling.options import PushReceiver, SendOptions
    from a2a_adapters.calling.reply import ReplyState
    from a2a_adapters.contract.card import AgentDescription


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
        options = checked_options(options, RemoteOptions)
        check_auth(auth)
        card = agent if isinstance(agent, AgentCard) else None
        url = None if isinstance(agent, AgentCard) else agent_url(agent)
        origin = agent_url(named_by) if named_by else url
        self._connections = Connections(url, card, auth, options, origin)
        self.name = self._connections.name
        self._is_view = False
        self._messenger = Messenger(self._connections)
        self._conversations = Conversations(self._messenger)

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
        check_arguments(cls.of, given, {"timeout"})
        options = RemoteOptions()
        if timeout is not None:
            options = replace(options, timeout=timeout)
        if max_retries is not None:
            options = replace(options, retries=max_retries)
        return cls(agent, auth=HeadersAuth(headers) if headers else None, options=options)

    @classmethod
    async def discover(
        cls, host: str, *, auth: httpx.Auth | None = None, options: RemoteOptions | None = None
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
        options = checked_options(options, RemoteOptions)
        check_auth(auth)
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

    def as_user(self, credentials: Secret | httpx.Auth) -> RemoteAgent:
        """Return this agent for a user, whose token or `httpx.Auth` replaces its credentials.

        Conversations are separate. Connections and the card remain those of this object, which
        fetches the card with its own credentials.
        """
        auth = credentials if isinstance(credentials, httpx.Auth) else BearerAuth(credentials)
        user = object.__new__(type(self))
        vars(user).update(vars(self), _is_view=True)
        user._messenger = Messenger(self._connections, auth)
        user._conversations = Conversations(user._messenger)
        return user

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
        exchange = await self._messenger.begin(
            message, context_id=context_id, task_id=task_id, **options
        )
        return await final_reply(exchange.events())

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

    async def start(
        self,
        message: MessageInput,
        *,
        context_id: str = "",
        notify: PushReceiver | None = None,
        **options: Unpack[SendOptions],
    ) -> RemoteTask:
        """Send a message and return its task as soon as it exists, without waiting for the answer.

        Leaving early does not cancel the task. Agents that ignore `returnImmediately` (A2A 1.0,
        section 3.2.2) return it with the answer.

        Args:
            message: A text, a part or several parts.
            context_id: The conversation, from an earlier reply; empty starts a new one.
            notify: Receives the task's push notifications, if the agent sends any. The task then
                waits for them instead of keeping a connection open.
            **options: Metadata, headers and the timeout for this call, see `SendOptions`.

        Raises:
            InvalidInputError: The message cannot be encoded.
            RemoteAgentError: The call failed.
        """
        seen = await self._messenger.start(message, context_id=context_id, notify=notify, **options)
        return RemoteTask(self._messenger, seen, headers=options.get("headers"), notify=notify)

    def task(
        self,
        task_id: str,
        *,
        headers: Mapping[str, str] | None = None,
        notify: PushReceiver | None = None,
    ) -> RemoteTask:
        """Return the task with a stored id, without calling the agent.

        Args:
            task_id: The `RemoteTask.id`.
            headers: Headers of its requests, see `SendOptions`.
            notify: Receives the task's push notifications, as in `start`.

        Raises:
            InvalidInputError: The id is empty: the agent answered with a message, without a task.
        """
        if not task_id or not isinstance(task_id, str):
            raise InvalidInputError("a task needs an id; an answer without a task has none")
        seen = AgentReply(text="", state="unknown", task_id=task_id)
        return RemoteTask(self._messenger, seen, headers=headers, notify=notify)

    async def tasks(
        self,
        *,
        context: str = "",
        state: ReplyState | None = None,
        since: datetime | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncGenerator[RemoteTask]:
        """Yield the caller's tasks at the agent, newest first, reading page after page.

        Args:
            context: Only tasks of this conversation.
            state: Only tasks in this state.
            since: Only tasks whose state changed after this time.
            headers: Headers of the requests, see `SendOptions`.

        Raises:
            InvalidInputError: There is no such state.
            RemoteAgentError: The agent cannot list tasks (as in A2A 0.3), or does not answer.
        """
        status = f"TASK_STATE_{state.upper().replace('-', '_')}" if state else None
        try:
            request = ListTasksRequest(
                context_id=context, status=status, history_length=0, include_artifacts=False
            )
        except ValueError as error:
            raise InvalidInputError(f"tasks have no state {state!r}") from error
        if since is not None:
            request.status_timestamp_after.FromDatetime(since)
        while True:
            page = await self._messenger.call(
                "ListTasks", lambda transport: transport.list_tasks(request), headers
            )
            for task in page.tasks:
                yield RemoteTask(self._messenger, as_reply(task), headers=headers)
            if page.next_page_token in {"", request.page_token}:
                return
            request.page_token = page.next_page_token

    async def get_task(self, task_id: str) -> AgentReply:
        """Return the current state of a task.

        Raises:
            RemoteAgentError: The agent does not know the task, or does not answer.
        """
        return await self.task(task_id).status()

    async def cancel(self, task_id: str) -> AgentReply:
        """Cancel a task.

        Raises:
            RemoteAgentError: The task cannot be cancelled, or the agent does not answer.
        """
        return await self.task(task_id).cancel()

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
        if not self._is_view:
            await self._connections.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    describe_sync = blocking.running(describe)
    send_sync = blocking.running(send)
    stream_sync = blocking.iterating(stream)
    start_sync = blocking.running(start)
    tasks_sync = blocking.iterating(tasks)
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
