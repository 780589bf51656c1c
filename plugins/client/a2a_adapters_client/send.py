"""`a2a-adapters send`: a message to an agent, and what comes of it (a2a-cli 0.2, section 10.2)."""

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
            metavar="[AGENT] [TEXT]", help="What to say; by default, and by -, what is piped in."
        ),
    ] = None,
    text: Annotated[list[str] | None, typer.Option(help="A text to send.")] = None,
    file: Annotated[list[str] | None, typer.Option(help="A file to send, or its address.")] = None,
    data: Annotated[
        list[str] | None, typer.Option(help="JSON to send: a file, - or the JSON itself.")
    ] = None,
    media_type: Annotated[
        list[str] | None, typer.Option(help="Of the part before it, in place of a guess.")
    ] = None,
    context_id: Annotated[
        str, typer.Option(help="The conversation to go on with.", envvar="A2ACLI_CONTEXT_ID")
    ] = "",
    task_id: Annotated[
        str, typer.Option(help="The task that this answers.", envvar="A2ACLI_TASK_ID")
    ] = "",
    is_async: Annotated[
        bool,
        typer.Option(
            "--async/--wait",
            help="Do not wait for the end; print what the task is called.",
            envvar="A2ACLI_ASYNC",
        ),
    ] = False,
) -> None:
    """Send a message to an agent, and print what comes of it.

    Waits until the task ends or asks something. What it has come to is in its state: the exit
    code only says whether this command could do its job.
    """
    del text, file, data, media_type  # `typed_parts` has them in their order
    [*said] = access.take(words or [], most=1)
    parts = read_parts(said, typed_parts(context))
    asyncio.run(_send(access, parts, context_id, task_id, is_async=is_async))


async def _send(
    access: Access, parts: Sequence[Part], context_id: str, task_id: str, *, is_async: bool
) -> None:
    # The client costs a second that --help need not wait.
    from a2a.types import SendMessageResponse  # noqa: PLC0415

    from a2a_adapters_client.connect import connected  # noqa: PLC0415
    from a2a_adapters_client.follow import Following  # noqa: PLC0415
    from a2a_adapters_client.output import Output  # noqa: PLC0415

    request, output = _request(access, parts, context_id, task_id), Output(access)
    request.configuration.return_immediately = is_async
    async with connected(access, streaming=not is_async) as agent:
        following = Following(agent, task_id)
        async with following.within(access.timeout), _told_at_ctrl_c(following, access):
            last = None
            async for event in following.sent(request, only_first=is_async):
                if access.stream:
                    output.event(event)
                elif last is None and following.task_id and not is_async:
                    note(f"task {following.task_id}")
                last = event
            assert last is not None  # noqa: S101 - a message without an answer raises
            if access.stream:
                output.advise(following.told())
            elif last.HasField("message"):
                output.sent(SendMessageResponse(message=last.message))
            else:
                task = last.task if is_async else await agent.task(following.task_id)
                output.sent(SendMessageResponse(task=task))


@asynccontextmanager
async def _told_at_ctrl_c(following: Following, access: Access) -> AsyncGenerator[None]:
    """Say how to go on with a task, or end it, when the user does not wait for it any longer."""
    try:
        yield
    except asyncio.CancelledError:
        if following.task_id and not following.is_settled:
            task_id = following.task_id
            note(f"the task goes on: {access.again('task get', '--wait', argument=task_id)}")
            note(f"end it: {access.again('task cancel', argument=task_id)}")
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
