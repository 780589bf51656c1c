"""`a2a-adapters task`: tasks of a remote agent (a2a-cli 0.2, sections 7.1, 10.3, 10.4)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from a2a_adapters.cli.options import suggestion
from a2a_adapters.cli.terminal import note
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters_client.aliases import complete_agent
from a2a_adapters_client.command import (
    MESSAGE,
    OUTPUT,
    POLLING,
    ClientCommand,
    FailOption,
    TaskArgument,
    client_command,
    exit_by,
    task_id_of,
)
from a2a_adapters_client.push_config import push_config

if TYPE_CHECKING:
    from a2a.types import TaskState

    from a2a_adapters_client.access import Access

# Importing the client takes a second, which --help must not wait for: functions import it.
# ruff: noqa: PLC0415

task = typer.Typer(
    help="Show, follow and cancel your tasks at a remote agent.", no_args_is_help=True
)
task.add_typer(push_config, name="push-config")

History = Annotated[
    int | None, typer.Option("--history", min=0, help="Number of history messages to print.")
]


@task.command(cls=ClientCommand)
@client_command(OUTPUT | POLLING)
def get(
    access: Access,
    words: TaskArgument = None,
    history: History = None,
    wait: Annotated[
        bool, typer.Option("--wait", "--watch", help="Wait until the task ends or asks for input.")
    ] = False,
    fails: FailOption = True,
) -> None:
    """Print a task with its state, artifacts and history.

    Examples:
      a2a-adapters task get localhost:8000 TASK
      a2a-adapters task get localhost:8000 TASK --wait -o json
    """
    state = asyncio.run(_get(access, task_id_of(access, words), history, wait=wait))
    exit_by(state, fails=fails and wait)


async def _get(access: Access, task_id: str, history: int | None, *, wait: bool) -> TaskState:
    from a2a_adapters_client.connect import connected
    from a2a_adapters_client.follow import Following
    from a2a_adapters_client.output import Output

    async with connected(access, streaming=False) as agent:
        following = Following(agent, task_id)
        async with following.within(access.timeout):
            if wait:
                async for _ in following.rest():
                    pass
            output = Output(access, history=history is not None)
            output.task(found := await agent.task(task_id, history))
    return found.status.state


@task.command(cls=ClientCommand)
@client_command(OUTPUT | MESSAGE)
def cancel(access: Access, words: TaskArgument = None) -> None:
    """Cancel a task and print it.

    Examples:
      a2a-adapters task cancel localhost:8000 TASK
      a2a-adapters task cancel TASK -a localhost:8000 -o json
    """
    asyncio.run(_cancel(access, task_id_of(access, words)))


async def _cancel(access: Access, task_id: str) -> None:
    from a2a.types import CancelTaskRequest

    from a2a_adapters.protocol.conversion import to_struct
    from a2a_adapters_client.connect import connected
    from a2a_adapters_client.follow import Following
    from a2a_adapters_client.output import Output

    metadata = access.request_metadata()
    request = CancelTaskRequest(id=task_id, metadata=to_struct(metadata) if metadata else None)
    async with connected(access) as agent, Following(agent, task_id).within(access.timeout):
        found = await agent.call(lambda: agent.client.cancel_task(request, context=agent.context))
        Output(access).task(found)


@task.command(cls=ClientCommand)
@client_command(OUTPUT | POLLING)
def subscribe(access: Access, words: TaskArgument = None, fails: FailOption = True) -> None:
    """Follow a task until it ends or asks for input; with --stream, print each event.

    Examples:
      a2a-adapters task subscribe localhost:8000 TASK
      a2a-adapters task subscribe localhost:8000 TASK --stream -o json
    """
    state = asyncio.run(_subscribe(access, task_id_of(access, words)))
    exit_by(state, fails=fails)


async def _subscribe(access: Access, task_id: str) -> TaskState:
    from a2a_adapters_client.connect import connected
    from a2a_adapters_client.follow import Following
    from a2a_adapters_client.output import Output

    output = Output(access)
    async with connected(access) as agent:
        if not agent.card.capabilities.streaming:
            note("the agent does not support streams; polling the task")
        following = Following(agent, task_id)
        async with following.within(access.timeout):
            async for event in following.subscribed():
                if access.stream:
                    output.event(event)
            if not access.stream:
                output.task(await agent.task(task_id))
    return following.task().status.state


@task.command("list", cls=ClientCommand)
@client_command()
def list_(
    access: Access,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="AGENT", autocompletion=complete_agent)
    ] = None,
    status: Annotated[
        str, typer.Option(help="Only tasks in this state, such as completed or input-required.")
    ] = "",
    context_id: Annotated[
        str, typer.Option("--context", "--context-id", help="Only tasks of this context.")
    ] = "",
    page_size: Annotated[int, typer.Option(min=1, max=100, help="Number of tasks to print.")] = 50,
    page_token: Annotated[
        str, typer.Option(help="Token of the page, printed with the previous one.")
    ] = "",
    history: History = None,
    artifacts: Annotated[bool, typer.Option("--artifacts", help="Include artifacts.")] = False,
) -> None:
    """List tasks, newest first.

    Examples:
      a2a-adapters task list localhost:8000 --status input-required
      a2a-adapters task list localhost:8000 --page-size 5 -o json
    """
    access.take(words or [], most=0)
    said: dict[str, Any] = {
        "context_id": context_id,
        "page_size": page_size,
        "page_token": page_token,
        "include_artifacts": artifacts,
    }
    if history is not None:
        said["history_length"] = history
    asyncio.run(_list(access, status, said))


async def _list(access: Access, status: str, said: dict[str, Any]) -> None:
    from a2a.types import ListTasksRequest

    from a2a_adapters_client.connect import connected
    from a2a_adapters_client.follow import Following
    from a2a_adapters_client.output import Formatter, Output, field

    request = ListTasksRequest(**said, status=_state(status))
    output, formatter = Output(access), Formatter(verbose=access.verbose)
    async with connected(access) as agent, Following(agent).within(access.timeout):
        page = await agent.call(lambda: agent.client.list_tasks(request, context=agent.context))
    if access.stream:
        for each in page.tasks:
            output.fields(each, formatter.task(each))
        return
    lines = [line for each in page.tasks for line in (*formatter.task(each), "")]
    if page.next_page_token:
        lines.append(field("Next-Page", page.next_page_token))
    output.fields(page, lines)
    if not lines:
        note("no tasks")


def _state(status: str) -> str | None:
    """Return the protocol's name of a state, None for any."""
    from a2a.types import TaskState

    if not status:
        return None
    name = "TASK_STATE_" + status.upper().replace("-", "_").removeprefix("TASK_STATE_")
    if name not in dict(TaskState.items()):
        known = [_shown(each) for each, number in TaskState.items() if number]
        raise ConfigurationError(f"unknown state {status!r}; {suggestion(status, known)}")
    return name


def _shown(state: str) -> str:
    return state.removeprefix("TASK_STATE_").lower().replace("_", "-")


@task.command(cls=ClientCommand)
@client_command()
def download(
    access: Access,
    words: TaskArgument = None,
    folder: Annotated[
        Path, typer.Option("--save", "--folder", "-d", help="Target folder.")
    ] = Path(),
) -> None:
    """Save the artifacts of a task as files, without overwriting any.

    Examples:
      a2a-adapters task download localhost:8000 TASK
      a2a-adapters task download localhost:8000 TASK --save results
    """
    asyncio.run(_download(access, task_id_of(access, words), folder))


async def _download(access: Access, task_id: str, folder: Path) -> None:
    from a2a_adapters_client.connect import connected
    from a2a_adapters_client.files import results, save
    from a2a_adapters_client.follow import Following
    from a2a_adapters_client.output import Output, field, heading

    async with connected(access) as agent, Following(agent, task_id).within(access.timeout):
        found = await agent.task(task_id)
    files = list(results(found))
    saved = list(save(files, folder))
    away = [file.url for file in files if file.url is not None]
    lines = [field("Saved", path) for path in saved] + [field("Not-Saved", url) for url in away]
    Output(access).fields(found, [*heading(found), *lines])
