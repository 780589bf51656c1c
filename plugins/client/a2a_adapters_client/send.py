"""`a2a-adapters send`: sends a message to an agent (a2a-cli 0.2, section 10.2)."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from a2a_adapters.cli.terminal import note
from a2a_adapters.contract.errors import InvalidInputError
from a2a_adapters_client.command import client_command
from a2a_adapters_client.parts import MessageCommand, read_parts, typed_parts

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from a2a.types import SendMessageRequest

    from a2a_adapters.contract.parts import Part
    from a2a_adapters_client.access import Access
    from a2a_adapters_client.follow import Following


app = typer.Typer()


@app.command(cls=MessageCommand)
@client_command
def send(
    access: Access,
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[AGENT] [TEXT]", help="Text to send; - or none reads standard input."
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
    context_id: Annotated[
        str,
        typer.Option(
            help="Context id of the conversation to continue.", envvar="A2ACLI_CONTEXT_ID"
        ),
    ] = "",
    task_id: Annotated[
        str, typer.Option(help="Id of the task to answer.", envvar="A2ACLI_TASK_ID")
    ] = "",
    is_async: Annotated[
        bool,
        typer.Option(
            "--async/--wait",
            help="Print the task id without waiting for the result.",
            envvar="A2ACLI_ASYNC",
        ),
    ] = False,
) -> None:
    """Send a message to an agent and print the answer.

    Waits until the task ends or asks for input. The exit code reports errors of this command;
    the outcome of the task is its state.
    """
    del text, file, data, media_type  # read in order by `typed_parts`
    [*said] = access.take(words or [], most=1)
    parts = read_parts(said, typed_parts(context))
    asyncio.run(_send(access, parts, context_id, task_id, is_async=is_async))


async def _send(
    access: Access, parts: Sequence[Part], context_id: str, task_id: str, *, is_async: bool
) -> None:
    # Importing the client takes a second, which --help must not wait for.
    from a2a.types import SendMessageResponse  # noqa: PLC0415

    from a2a_adapters_client.connect import connected  # noqa: PLC0415
    from a2a_adapters_client.follow import Following  # noqa: PLC0415
    from a2a_adapters_client.output import Output  # noqa: PLC0415

    request, output = _request(access, parts, context_id, task_id), Output(access)
    request.configuration.return_immediately = is_async
    async with connected(access, streaming=not is_async) as agent:
        following = Following(agent, task_id)
        async with following.within(access.timeout), _hint_at_ctrl_c(following, access):
            last = None
            async for event in following.sent(request, only_first=is_async):
                if access.stream:
                    output.event(event)
                elif last is None and following.task_id and not is_async:
                    note(f"task {following.task_id}")
                last = event
            assert last is not None  # noqa: S101 - a message without an answer raises
            if access.stream:
                output.advise(following.task())
            elif last.HasField("message"):
                output.sent(SendMessageResponse(message=last.message))
            else:
                task = last.task if is_async else await agent.task(following.task_id)
                output.sent(SendMessageResponse(task=task))


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
    access: Access, parts: Sequence[Part], context_id: str, task_id: str
) -> SendMessageRequest:
    from a2a.types import SendMessageRequest  # noqa: PLC0415 - as above
    from google.protobuf.message import Error as ProtocolBufferError  # noqa: PLC0415

    from a2a_adapters.protocol.conversion import to_struct  # noqa: PLC0415
    from a2a_adapters.protocol.messages import user_message  # noqa: PLC0415

    metadata = access.request_metadata()
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
