"""`a2a-adapters send`: sends a message to an agent (a2a-cli 0.2, section 10.2)."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from a2a_adapters.cli.terminal import note
from a2a_adapters.contract.errors import InvalidInputError
from a2a_adapters.contract.text import as_text
from a2a_adapters_client.aliases import complete_agent
from a2a_adapters_client.command import (
    MESSAGE,
    OUTPUT,
    POLLING,
    ContextOption,
    FailOption,
    SaveOption,
    client_command,
    exit_by,
)
from a2a_adapters_client.memory import Memory
from a2a_adapters_client.parts import MessageCommand, read_parts, typed_parts

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from a2a.types import SendMessageRequest, TaskState

    from a2a_adapters.contract.parts import Part
    from a2a_adapters_client.access import Access
    from a2a_adapters_client.follow import Following


app = typer.Typer()


@app.command(cls=MessageCommand)
@client_command(OUTPUT | POLLING | MESSAGE)
def send(
    access: Access,
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[AGENT] [TEXT]",
            help="Text to send; - or none reads standard input.",
            autocompletion=complete_agent,
        ),
    ] = None,
    text: Annotated[list[str] | None, typer.Option(help="Text to send. Repeatable.")] = None,
    file: Annotated[
        list[str] | None, typer.Option(help="File to send, or its URL. Repeatable.")
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(help="JSON to send: a file, - or the JSON itself. Repeatable."),
    ] = None,
    media_type: Annotated[
        list[str] | None, typer.Option(help="Media type of the preceding part. Default: guessed.")
    ] = None,
    skill: Annotated[
        str, typer.Option(help="Id of the skill to use, as in the card.", envvar="A2ACLI_SKILL")
    ] = "",
    context_id: ContextOption = "",
    task_id: Annotated[
        str,
        typer.Option(
            "--task", "--task-id", help="Id of the task to answer.", envvar="A2ACLI_TASK_ID"
        ),
    ] = "",
    is_async: Annotated[
        bool,
        typer.Option(
            "--async/--wait",
            help="Print the task id without waiting for the result.",
            envvar="A2ACLI_ASYNC",
        ),
    ] = False,
    continues: Annotated[
        bool,
        typer.Option(
            "--continue", "-c", help="Continue the last conversation, or the last with AGENT."
        ),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", help="Print only the answer, as if the output were not a terminal."
        ),
    ] = False,
    save: SaveOption = None,
    fails: FailOption = True,
) -> None:
    """Send a message to an agent and print the answer.

    Waits until the task ends or asks for input, and prints the answer as it arrives. On a terminal,
    ids and the state follow, unless --quiet; --verbose and -o json print the whole task.

    Examples:
      a2a-adapters send localhost:8000 "Hello"
      a2a-adapters send -c "And tomorrow?"
      git diff | a2a-adapters send localhost:8000 - --text "Review this" > review.md
    """
    del text, file, data, media_type  # read in order by `typed_parts`
    words = words or []
    if continues:
        last = Memory().last(access.agent_card or (words[0] if len(words) > 1 else ""))
        access.agent_card = access.agent_card or (words.pop(0) if len(words) > 1 else last.agent)
        context_id, task_id = last.context_id, last.task_id if last.is_question else ""
    [*said] = access.take(words, most=1)
    parts = read_parts(said, typed_parts(context))
    request = _request(access, parts, context_id, task_id, skill or access.skill)
    state = asyncio.run(_send(access, request, save, is_async=is_async, is_quiet=quiet))
    exit_by(state, fails=fails)


async def _send(
    access: Access,
    request: SendMessageRequest,
    folder: Path | None,
    *,
    is_async: bool,
    is_quiet: bool,
) -> TaskState:
    """Send a message, print the answer, and return the state of its task."""
    # Importing the client takes a second, which --help must not wait for.
    from a2a_adapters_client.connect import connected  # noqa: PLC0415
    from a2a_adapters_client.follow import Following  # noqa: PLC0415
    from a2a_adapters_client.printers import printer_for  # noqa: PLC0415

    request.configuration.return_immediately = is_async
    async with connected(access, streaming=not is_async) as agent:
        following = Following(agent, request.message.task_id)
        printer = printer_for(access, folder, is_async=is_async, is_quiet=is_quiet)
        is_noted = is_async or is_quiet or access.stream
        async with following.within(access.timeout), _hint_at_ctrl_c(following, access):
            try:
                async for event in following.sent(request, only_first=is_async):
                    printer.event(event, following.news)
                    if following.task_id and not is_noted:
                        note(f"task {following.task_id}")
                        is_noted = True
                late, reply = following.answer.finish()
                await printer.end(agent, following, late, reply)
            finally:
                printer.end_line()
    Memory().add(access.named, _text_of(request), reply)
    return following.task().status.state


def _text_of(request: SendMessageRequest) -> str:
    from a2a_adapters.protocol.conversion import message_parts  # noqa: PLC0415 - as above

    return as_text(message_parts(request.message))


@asynccontextmanager
async def _hint_at_ctrl_c(following: Following, access: Access) -> AsyncGenerator[None]:
    """On Ctrl-C, print how to resume following the task and how to cancel it."""
    try:
        yield
    except asyncio.CancelledError:
        if following.task_id and not following.is_settled:
            task_id = following.task_id
            note(
                f"the task is still running: {access.again('task get', '--wait', argument=task_id)}"
            )
            note(f"cancel it: {access.again('task cancel', argument=task_id)}")
        raise


def _request(
    access: Access, parts: Sequence[Part], context_id: str, task_id: str, skill: str
) -> SendMessageRequest:
    from a2a.types import SendMessageRequest  # noqa: PLC0415 - as above
    from google.protobuf.message import Error as ProtocolBufferError  # noqa: PLC0415

    from a2a_adapters.protocol.conversion import to_struct  # noqa: PLC0415
    from a2a_adapters.protocol.messages import user_message  # noqa: PLC0415

    metadata = access.request_metadata() | ({"skill_id": skill} if skill else {})
    try:
        message = user_message(parts, context_id, task_id)
        message.extensions.extend(access.extension or [])
        return SendMessageRequest(
            message=message, metadata=to_struct(metadata) if metadata else None
        )
    except (ValueError, RecursionError, ProtocolBufferError) as error:
        raise InvalidInputError(
            "the message cannot be sent: text must be Unicode without unpaired surrogates, and "
            "data must be JSON that is not nested too deeply"
        ) from error
