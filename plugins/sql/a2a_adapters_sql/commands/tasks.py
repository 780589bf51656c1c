"""`a2a-adapters tasks`: lets operators manage the tasks of all callers in their storage."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from a2a_adapters.cli.exits import FAILED, fail
from a2a_adapters.cli.options import OutputForm, seconds
from a2a_adapters.cli.terminal import echo, escaped, one_line, print_table
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters_sql.commands.db import StorageOption, existing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from a2a_adapters_sql.operators import KeptTask
    from a2a_adapters_sql.storage import SqlStorage

# Importing databases and a2a-sdk takes a second, which --help must not wait for.
# ruff: noqa: PLC0415

tasks = typer.Typer(
    help="Operate on tasks of all callers in your own storage. (`task` is for callers.)",
    no_args_is_help=True,
)

TaskArgument = Annotated[str, typer.Argument(metavar="TASK", show_default=False)]
AgentOption = Annotated[str | None, typer.Option(help="Only tasks of the agent with this name.")]
OwnerOption = Annotated[
    str | None, typer.Option(help='Only tasks of this caller; "" is the anonymous caller.')
]

_ATTEMPTS = 5
"""Maximum number of attempts if the task changes concurrently."""


@tasks.command("list")
def list_(
    storage: StorageOption,
    agent: AgentOption = None,
    owner: OwnerOption = None,
    state: Annotated[
        str | None,
        typer.Option("--status", "--state", help="Only tasks in this state, such as failed."),
    ] = None,
    unchanged: Annotated[
        str | None, typer.Option(help="Only tasks unchanged for at least this long, such as 1h30m.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of tasks.")] = 50,
    output: OutputForm = "text",
) -> None:
    """List open tasks of all callers, or tasks in a given state, newest first.

    Examples:
      a2a-adapters tasks list --storage sqlite:///tasks.db
      a2a-adapters tasks list --storage sqlite:///tasks.db --status failed
    """
    wanted = {
        "agent": agent,
        "owner": owner,
        "state": None if state is None else _state(state),
        "unchanged_seconds": seconds(unchanged) if unchanged else 0,
        "limit": limit,
    }
    found = asyncio.run(_found(storage, **wanted))
    if output == "json":
        echo(escaped(json.dumps([_as_dict(kept) for kept in found], indent=2)))
        return
    header = ("task", "state", "unchanged", "process", "agent", "owner")
    print_table(header, [[one_line(cell) for cell in _row(kept)] for kept in found])


@tasks.command()
def show(
    task: TaskArgument,
    storage: StorageOption,
    agent: AgentOption = None,
    owner: OwnerOption = None,
) -> None:
    """Print a task as JSON with its agent, caller and process.

    Examples:
      a2a-adapters tasks show TASK --storage sqlite:///tasks.db
      a2a-adapters tasks show TASK | jq .task.status
    """
    from a2a_adapters.protocol.encoding import to_dict

    kept = _only(asyncio.run(_found(storage, task_id=task, agent=agent, owner=owner)), task)
    whole = {**_as_dict(kept), "task": to_dict(kept.task)}
    echo(escaped(json.dumps(whole, indent=2)))


@tasks.command()
def end(
    task: TaskArgument,
    storage: StorageOption,
    agent: AgentOption = None,
    owner: OwnerOption = None,
    reason: Annotated[
        str, typer.Option(help="Reason shown to the caller.")
    ] = "An operator ended this task.",
) -> None:
    """Mark a task as failed; its server stops working on it at the next sweep.

    Examples:
      a2a-adapters tasks end TASK --storage sqlite:///tasks.db
      a2a-adapters tasks end TASK --reason "stuck"
    """

    async def act(opened: SqlStorage, kept: KeptTask) -> None:
        from a2a_adapters_sql.operators import end_task

        await end_task(opened, kept, reason)

    asyncio.run(_act(storage, act, task, agent, owner))
    echo(f"{one_line(task)} failed")


@tasks.command()
def retry(
    task: TaskArgument,
    storage: StorageOption,
    agent: AgentOption = None,
    owner: OwnerOption = None,
) -> None:
    """Release a task from its server; the next sweep of any server resumes or fails it.

    Examples:
      a2a-adapters tasks retry TASK --storage postgresql://db/agents
      a2a-adapters tasks retry TASK --agent poet --owner ann
    """

    async def act(opened: SqlStorage, kept: KeptTask) -> None:
        from a2a_adapters_sql.operators import hand_over_task

        await hand_over_task(opened, kept)

    asyncio.run(_act(storage, act, task, agent, owner))
    echo(f"{one_line(task)} handed over")


async def _act(
    url: str,
    act: Callable[[SqlStorage, KeptTask], Awaitable[None]],
    task_id: str,
    agent: str | None,
    owner: str | None,
) -> None:
    from a2a.server.cluster.task_store import ConcurrentTaskModificationError

    async with existing(url, start=True) as storage:
        from a2a_adapters_sql.operators import find_tasks

        for _ in range(_ATTEMPTS):
            found = await find_tasks(storage.database, task_id=task_id, agent=agent, owner=owner)
            kept = _only(found, task_id)
            with suppress(ConcurrentTaskModificationError):
                await act(storage, kept)
                return
    fail(f"task {one_line(task_id)} keeps changing; try again", FAILED)


async def _found(url: str, **wanted: Any) -> Sequence[KeptTask]:
    """Find tasks read-only, because a server may be running."""
    async with existing(url) as storage:
        from a2a_adapters_sql.operators import find_tasks

        return await find_tasks(storage.database, **wanted)


def _only(found: Sequence[KeptTask], task_id: str) -> KeptTask:
    if not found:
        fail(f"no task {one_line(task_id)}", FAILED)
    if len(found) > 1:
        whose = "; ".join(f"--agent {kept.agent!r} --owner {kept.owner!r}" for kept in found)
        fail(
            f"several tasks have the id {one_line(task_id)}; select one with {one_line(whose)}",
            FAILED,
        )
    return found[0]


def _state(name: str) -> int:
    from a2a.types import TaskState

    states = {_short(each): number for each, number in TaskState.items()}
    if (number := states.get(name.lower().replace("_", "-"))) is None:
        raise ConfigurationError(f"unknown state {name!r}; known states: {', '.join(states)}")
    return int(number)


def _short(name: str) -> str:
    return name.removeprefix("TASK_STATE_").lower().replace("_", "-")


def _row(kept: KeptTask) -> list[str]:
    about = _as_dict(kept)
    return [
        about["id"],
        about["state"],
        f"{about['unchangedSeconds']} s",
        about["process"],
        about["agent"],
        about["owner"],
    ]


def _as_dict(kept: KeptTask) -> dict[str, Any]:
    from a2a.types import TaskState

    return {
        "id": kept.task.id,
        "state": _short(TaskState.Name(kept.task.status.state)),
        "unchangedSeconds": round(time.time() - kept.task.status.timestamp.ToNanoseconds() / 1e9),
        "process": kept.process,
        "recoveryAttempts": kept.attempts,
        "agent": kept.agent,
        "owner": kept.owner,
    }
