"""The conversation of `call` and `chat`: with whom, and whatever the agent asks."""

from __future__ import annotations

import asyncio
import shlex
import sys
from typing import TYPE_CHECKING

import typer

from a2a_adapters import (
    HeadersAuth,
    RemoteAgent,
    RemoteAgentError,
    RemoteAnswerError,
    RemoteOptions,
)
from a2a_adapters.calling.card import InvalidCardError, agent_url
from a2a_adapters.cli.agents import Host, as_web_url
from a2a_adapters.cli.terminal import note
from a2a_adapters.contract.parts import Part, Text
from a2a_adapters_client.oauth.stored import stored_token

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_adapters.contract.adapter import AgentDescription
    from a2a_adapters_client.answer import AnswerPrinter


async def find_agent(
    reference: str, headers: Mapping[str, str], seconds: float
) -> tuple[RemoteAgent, AgentDescription]:
    """Return the agent at an address, or the one that `HOST#NAME` names, and what it is.

    Raises:
        ConfigurationError: It is no address.
        NoCardError: There is no card; the hint names the agents that the host has.
        RemoteAgentError: The host does not answer, or wants credentials.
    """
    options = RemoteOptions(timeout=seconds, progress=True)
    typed = agent_url(as_web_url(reference))
    auth = HeadersAuth(headers) if headers else stored_token(typed, options)
    host = Host(reference, auth, options)
    url = str(await host.agent())
    agent = RemoteAgent(url, auth=auth, options=options, named_by=host.address)
    try:
        return agent, await agent.describe()
    except InvalidCardError:
        raise
    except RemoteAnswerError as error:
        raise await host.no_card(str(error)) from error


def converse(
    agent: RemoteAgent,
    message: Sequence[Part],
    printer: AnswerPrinter,
    *,
    context_id: str,
    task_id: str,
) -> None:
    """Send a message, show the answer, and ask the user whatever the agent asks."""
    conversation = agent.conversation(context_id=context_id)
    conversation.task_id = task_id
    try:
        reply = asyncio.run(printer.show(conversation.stream(message)))
        while reply.is_question and sys.stdin.isatty():
            answer = [Text(_ask_user())]
            reply = asyncio.run(printer.show(conversation.stream(answer)))
        if reply.is_question:
            hint = shlex.join(["--task", reply.task_id, "--context", reply.context_id])
            note(f"the agent waits for an answer: call again with {hint}")
    except RemoteAgentError:
        printer.end_line()
        raise


def _ask_user() -> str:
    return str(typer.prompt(">", prompt_suffix=" "))
