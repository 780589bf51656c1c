"""`a2a-adapters call`, the former `send`: prints an answer as plain text."""

from __future__ import annotations

import asyncio
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from a2a_adapters.cli.options import Verbose, read_parameters
from a2a_adapters.cli.terminal import echo, note
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.contract.parts import Text
from a2a_adapters_client.parts import read_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_adapters import RemoteAgent
    from a2a_adapters.contract.parts import Part
    from a2a_adapters_client.answer import AnswerPrinter


app = typer.Typer()


@app.command(hidden=True)
def call(
    url: Annotated[str, typer.Argument(help="URL of the agent or of its card.")],
    text: Annotated[str, typer.Argument(help="Text to send; - or none reads standard input.")] = "",
    stream: Annotated[bool, typer.Option(help="Print the answer as it arrives.")] = True,
    context: Annotated[str, typer.Option(help="Context id of the conversation to continue.")] = "",
    task: Annotated[str, typer.Option(help="Id of the task to answer.")] = "",
    file: Annotated[list[Path] | None, typer.Option(help="File to send. Repeatable.")] = None,
    data: Annotated[list[str] | None, typer.Option(help="JSON to send. Repeatable.")] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(help="Header to send, such as 'X-API-Key: secret'. Repeatable."),
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Folder for the files of the answer.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the whole answer as JSON.")
    ] = False,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Time limit for the answer, in seconds.")
    ] = 900,
    _verbose: Verbose = False,
) -> None:
    """Send a message to an agent and print its answer (deprecated: use `send`)."""
    echo("`call` is deprecated and will be removed in the next release; use `send`", err=True)
    if save is not None and save.exists() and not save.is_dir():
        raise ConfigurationError(f"{save} is not a folder")
    # Importing the client takes a second, which --help must not wait for.
    from a2a_adapters_check.host import as_url  # noqa: PLC0415

    from a2a_adapters_client.answer import AnswerPrinter  # noqa: PLC0415
    from a2a_adapters_client.reference import find_agent  # noqa: PLC0415

    agent, _ = asyncio.run(find_agent(as_url(url), read_parameters(header or []), timeout))
    _converse(
        agent,
        _parts(text, file or [], data or []),
        AnswerPrinter(stream=stream, as_json=as_json, folder=save),
        context_id=context,
        task_id=task,
    )


def _parts(text: str, files: Sequence[Path], data: Sequence[str]) -> list[Part]:
    flags = [("file", str(file)) for file in files] + [("data", value) for value in data]
    return read_parts([text] if text else [], flags)


def _converse(
    agent: RemoteAgent,
    message: Sequence[Part],
    printer: AnswerPrinter,
    *,
    context_id: str,
    task_id: str,
) -> None:
    """Send a message, print the answer, and pass the agent's questions to the user."""
    from a2a_adapters import RemoteAgentError  # noqa: PLC0415

    conversation = agent.conversation(context_id=context_id)
    conversation.task_id = task_id
    try:
        reply = asyncio.run(printer.show(conversation.stream(message)))
        while reply.is_question and sys.stdin.isatty():
            answer = [Text(_ask_user())]
            reply = asyncio.run(printer.show(conversation.stream(answer)))
        if reply.is_question:
            hint = shlex.join(["--task", reply.task_id, "--context", reply.context_id])
            note(f"the agent is waiting for input: call again with {hint}")
    except RemoteAgentError:
        printer.end_line()
        raise


def _ask_user() -> str:
    return str(typer.prompt(">", prompt_suffix=" "))
