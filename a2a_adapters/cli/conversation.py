"""The conversation of `call`: a message, and whatever the agent asks then."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import typer

from a2a_adapters.calling import HeadersAuth, RemoteAgent, RemoteOptions
from a2a_adapters.calling.card import agent_url
from a2a_adapters.cli.client.oauth.stored import stored_token
from a2a_adapters.cli.exits import FAILED, TIMED_OUT, UNAUTHENTICATED, UNREACHABLE, USAGE, fail
from a2a_adapters.cli.several import agents_at, name_one
from a2a_adapters.errors import (
    RemoteAgentError,
    RemoteAnswerError,
    RemoteAuthError,
    RemoteConnectionError,
    RemoteTimeoutError,
)
from a2a_adapters.parts import Part, Text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_adapters.cli.answer import AnswerPrinter


def make_agent(url: str, headers: Mapping[str, str], timeout: float) -> RemoteAgent:
    """Return the agent that the command line names."""
    options = RemoteOptions(timeout=timeout, progress=True)
    auth = HeadersAuth(headers) if headers else stored_token(agent_url(url), options)
    return RemoteAgent(url, auth=auth, options=options)


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
            hint = f"--task {reply.task_id} --context {reply.context_id}"
            typer.echo(f"the agent waits for an answer: call again with {hint}", err=True)
    except RemoteConnectionError as error:
        fail(str(error), UNREACHABLE)
    except RemoteAuthError as error:
        fail(str(error), UNAUTHENTICATED)
    except RemoteTimeoutError as error:
        printer.end_line()
        fail(str(error), TIMED_OUT)
    except RemoteAgentError as error:
        printer.end_line()
        if isinstance(error, RemoteAnswerError) and (agents := agents_at(agent.name)):
            fail(name_one(agent.name, agents), USAGE)
        fail(str(error), FAILED)


def _ask_user() -> str:
    return str(typer.prompt(">", prompt_suffix=" "))
