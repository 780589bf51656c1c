"""`OmniRouteClient`: calls an OmniRoute gateway from async or blocking code."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, NoReturn, Self, TypeAlias

from a2a_adapters import (
    AgentReply,
    InvalidInputError,
    RemoteAgentError,
    RemoteTimeoutError,
    Skill,
    Text,
    TextDelta,
)
from a2a_adapters.plugin import JSON, blocking, check_arguments
from a2a_adapters_omniroute.calling.card import CARD, gateway_agent, omniroute_card
from a2a_adapters_omniroute.calling.messages import ROLE
from a2a_adapters_omniroute.calling.reading import checked
from a2a_adapters_omniroute.calling.reply import OmniRouteCard, OmniRouteReply, OmniRouteTask
from a2a_adapters_omniroute.calling.routing import QUOTA_MANAGEMENT

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence

__all__ = ["OmniRouteClient"]

Messages: TypeAlias = "str | Sequence[Mapping[str, JSON]]"

_CANCEL_SECONDS = 5.0


class OmniRouteClient:
    """Client of an OmniRoute gateway: skills, messages with roles, tasks.

    Uses a `RemoteAgent`. Connects on first use. One object may be used by any number of
    threads and event loops concurrently.

    Args:
        base_url: URL of the gateway.
        api_key: Its key, or a callable that returns it, sync or async; "" for an open gateway.
        timeout: Time limit for an answer in seconds. The gateway's own limit is 30 s.

    Raises:
        ConfigurationError: The URL is invalid.
    """

    def __init__(
        self,
        base_url: str = "http://localhost:20128",
        *,
        api_key: str | Callable[[], str | Awaitable[str]] = "",
        timeout: float = 60,
    ) -> None:
        check_arguments(OmniRouteClient, locals(), {"timeout"})
        card = omniroute_card(base_url)
        self._agent = gateway_agent(card, api_key, timeout)
        self._described = gateway_agent(card.name + CARD, api_key, timeout)

    def __repr__(self) -> str:
        return f"OmniRouteClient({self._agent.name!r})"

    def __deepcopy__(self, memo: object) -> Self:
        return self  # frameworks copy what models hold; the connections are shared

    def __reduce__(self) -> NoReturn:
        raise TypeError("an OmniRouteClient holds connections and cannot be pickled")

    async def discover(self) -> OmniRouteCard:
        """Return the gateway's description, which is available even if A2A is disabled.

        Raises:
            RemoteAgentError: There is no gateway at the URL.
        """
        card = await self._described.card()
        return OmniRouteCard(
            name=card.name,
            description=card.description,
            version=card.version,
            url=card.supported_interfaces[0].url,
            streaming=card.capabilities.streaming,
            skills=[
                Skill(
                    id=skill.id,
                    name=skill.name,
                    description=skill.description,
                    tags=list(skill.tags),
                    examples=list(skill.examples),
                )
                for skill in card.skills
            ],
        )

    async def send(
        self, skill: str, messages: Messages, metadata: Mapping[str, JSON] | None = None
    ) -> OmniRouteReply:
        """Send messages to a skill and return the whole answer.

        Args:
            skill: Id of the skill in the card.
            messages: Messages `{"role": ..., "content": ...}`, or a text of the user.
            metadata: Parameters of the skill; for "smart-routing", see `Routing`.

        Raises:
            InvalidInputError: A message is not text.
            OmniRouteBudgetError: The call exceeds its budget; `reply` holds the answer, if any.
            OmniRouteError: There is no answer; the subclass says why and what to do.
            RemoteAgentError: The gateway cannot be reached or is too slow.
        """
        asked = {**(metadata or {}), "skill": skill}
        return OmniRouteReply.of(await self._agent.send(_said(messages), metadata=asked))

    async def stream(
        self, skill: str, messages: Messages, metadata: Mapping[str, JSON] | None = None
    ) -> AsyncGenerator[TextDelta | OmniRouteReply]:
        """Send messages to a skill; yield the text as it arrives, and finally the whole answer.

        OmniRoute 3.7.9 sends the text in one piece. Closing the stream early cancels the
        task. For the arguments and errors see `send`.
        """
        asked = {**(metadata or {}), "skill": skill}
        async with aclosing(self._agent.stream(_said(messages), metadata=asked)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    yield event
                elif isinstance(event, AgentReply):
                    yield OmniRouteReply.of(event)

    async def get_task(self, task_id: str) -> OmniRouteTask:
        """Return the current state of a task.

        Raises:
            OmniRouteTaskNotFoundError: The task is unknown or expired.
            RemoteAgentError: The gateway does not answer.
        """
        return OmniRouteTask.of(await self._agent.get_task(task_id))

    async def cancel_task(self, task_id: str) -> OmniRouteTask:
        """Cancel a task; the provider may still finish it.

        Raises:
            OmniRouteTaskNotFoundError: The task is unknown.
            OmniRouteTaskFinishedError: The task has already ended.
            RemoteAgentError: The gateway does not answer.
        """
        return OmniRouteTask.of(await self._agent.cancel(task_id))

    async def quota(self, question: str = "How much quota is left?") -> OmniRouteReply:
        """Ask about quotas in natural language: a ranking, free models, or a summary.

        For the errors see `send`.
        """
        return await self.send(QUOTA_MANAGEMENT, question)

    async def wait(
        self,
        task_id: str,
        timeout: float = 300,  # noqa: ASYNC109 - cancels the task, not only the wait
        interval: float = 2,
    ) -> OmniRouteReply:
        """Poll a task every `interval` seconds until it ends; cancel it after `timeout`.

        Raises:
            RemoteTimeoutError: The task did not end in time.
            RemoteAgentError: The task ended without an answer; see `send`.
        """
        try:
            async with asyncio.timeout(timeout) as limit:
                reply = await self._agent.get_task(task_id)
                while not OmniRouteTask.of(reply).is_finished:
                    await asyncio.sleep(interval)
                    reply = await self._agent.get_task(task_id)
        except TimeoutError as error:
            if not limit.expired():
                raise
            await self._give_up(task_id)
            raise RemoteTimeoutError(
                f"the task did not end within {timeout:g} s and was cancelled", task_id=task_id
            ) from error
        return checked(OmniRouteReply.of(reply))

    async def aclose(self) -> None:
        """Close the connections; the next call reopens them."""
        await self._agent.aclose()
        await self._described.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def discover_sync(self) -> OmniRouteCard:
        """`discover` from blocking code."""
        return blocking.run(self.discover())

    def send_sync(
        self, skill: str, messages: Messages, metadata: Mapping[str, JSON] | None = None
    ) -> OmniRouteReply:
        """`send` from blocking code."""
        return blocking.run(self.send(skill, messages, metadata))

    def stream_sync(
        self, skill: str, messages: Messages, metadata: Mapping[str, JSON] | None = None
    ) -> Generator[TextDelta | OmniRouteReply]:
        """`stream` from blocking code."""
        return blocking.iterate(self.stream(skill, messages, metadata))

    def get_task_sync(self, task_id: str) -> OmniRouteTask:
        """`get_task` from blocking code."""
        return blocking.run(self.get_task(task_id))

    def cancel_task_sync(self, task_id: str) -> OmniRouteTask:
        """`cancel_task` from blocking code."""
        return blocking.run(self.cancel_task(task_id))

    def quota_sync(self, question: str = "How much quota is left?") -> OmniRouteReply:
        """`quota` from blocking code."""
        return blocking.run(self.quota(question))

    def wait_sync(self, task_id: str, timeout: float = 300, interval: float = 2) -> OmniRouteReply:
        """`wait` from blocking code."""
        return blocking.run(self.wait(task_id, timeout, interval))

    def close(self) -> None:
        """`aclose` from blocking code."""
        blocking.run(self.aclose())

    async def _give_up(self, task_id: str) -> None:
        try:
            async with asyncio.timeout(_CANCEL_SECONDS):
                await self.cancel_task(task_id)
        except (RemoteAgentError, TimeoutError):
            return


def _said(messages: Messages) -> str | list[Text]:
    if isinstance(messages, str):
        return messages
    return [_part(message.get("role", "user"), message.get("content")) for message in messages]


def _part(role: JSON, content: JSON) -> Text:
    if not isinstance(content, str):
        raise InvalidInputError(
            "OmniRoute supports only text of the roles system, user and assistant"
        )
    return Text(content, metadata={ROLE: role})
