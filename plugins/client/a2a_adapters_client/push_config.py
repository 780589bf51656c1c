"""`a2a-adapters task push-config`: push notifications of tasks (A2A 1.0, section 3.1.7)."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from a2a_adapters import RemoteRefusedError
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters_client.aliases import complete_agent
from a2a_adapters_client.command import ClientCommand, TaskArgument, client_command, task_id_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from a2a.types import TaskPushNotificationConfig

    from a2a_adapters_client.access import Access
    from a2a_adapters_client.connect import Agent

# ruff: noqa: PLC0415 - as in `task`

push_config = typer.Typer(help="Manage push notifications of tasks.", no_args_is_help=True)

ConfigArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[AGENT] TASK CONFIG", show_default=False, autocompletion=complete_agent
    ),
]

_PUSH_NOT_SUPPORTED = -32003


@asynccontextmanager
async def _connected(access: Access) -> AsyncGenerator[Agent]:
    """Connect to an agent that supports push notifications."""
    from a2a_adapters_client.connect import connected
    from a2a_adapters_client.follow import Following

    async with connected(access) as agent, Following(agent).within(access.timeout):
        if not agent.card.capabilities.push_notifications:
            raise RemoteRefusedError(
                "the agent's card does not declare push notifications", code=_PUSH_NOT_SUPPORTED
            )
        yield agent


@push_config.command(cls=ClientCommand)
@client_command()
def create(
    access: Access,
    words: TaskArgument = None,
    url: Annotated[
        str, typer.Option(help="URL that receives the notifications.", show_default=False)
    ] = "",
    token: Annotated[str, typer.Option(help="Value of X-A2A-Notification-Token.")] = "",
    config_id: Annotated[str, typer.Option("--id", help="Id of the config.")] = "",
) -> None:
    """Send push notifications of a task to a URL.

    Examples:
      a2a-adapters task push-config create localhost:8000 TASK --url https://example.com/hook
      a2a-adapters task push-config create localhost:8000 TASK --url URL --token SECRET
    """
    task_id = task_id_of(access, words)
    if not url:
        raise ConfigurationError("pass the receiver's URL with --url")
    asyncio.run(_create(access, task_id, url, token, config_id))


async def _create(access: Access, task_id: str, url: str, token: str, config_id: str) -> None:
    from a2a.types import TaskPushNotificationConfig

    from a2a_adapters_client.output import Output

    request = TaskPushNotificationConfig(task_id=task_id, id=config_id, url=url, token=token)
    async with _connected(access) as agent:
        made = await agent.call(
            lambda: agent.client.create_task_push_notification_config(
                request, context=agent.context
            )
        )
    Output(access).fields(made, _lines(made))


@push_config.command(cls=ClientCommand)
@client_command()
def get(access: Access, words: ConfigArgument = None) -> None:
    """Print a push notification config of a task.

    Examples:
      a2a-adapters task push-config get localhost:8000 TASK CONFIG
      a2a-adapters task push-config get localhost:8000 TASK CONFIG -o json
    """
    task_id, config_id = _ids(access, words)
    asyncio.run(_get(access, task_id, config_id))


async def _get(access: Access, task_id: str, config_id: str) -> None:
    from a2a.types import GetTaskPushNotificationConfigRequest

    from a2a_adapters_client.output import Output

    request = GetTaskPushNotificationConfigRequest(task_id=task_id, id=config_id)
    async with _connected(access) as agent:
        found = await agent.call(
            lambda: agent.client.get_task_push_notification_config(request, context=agent.context)
        )
    Output(access).fields(found, _lines(found))


@push_config.command("list", cls=ClientCommand)
@client_command()
def list_(access: Access, words: TaskArgument = None) -> None:
    """List the push notification configs of a task.

    Examples:
      a2a-adapters task push-config list localhost:8000 TASK
      a2a-adapters task push-config list localhost:8000 TASK -o json
    """
    asyncio.run(_list(access, task_id_of(access, words)))


async def _list(access: Access, task_id: str) -> None:
    from a2a.types import ListTaskPushNotificationConfigsRequest

    from a2a_adapters_client.output import Output

    request = ListTaskPushNotificationConfigsRequest(task_id=task_id)
    async with _connected(access) as agent:
        page = await agent.call(
            lambda: agent.client.list_task_push_notification_configs(request, context=agent.context)
        )
    Output(access).fields(page, [line for each in page.configs for line in (*_lines(each), "")])


@push_config.command(cls=ClientCommand)
@client_command()
def delete(access: Access, words: ConfigArgument = None) -> None:
    """Delete a push notification config of a task.

    Examples:
      a2a-adapters task push-config delete localhost:8000 TASK CONFIG
      a2a-adapters task push-config delete TASK CONFIG -a localhost:8000
    """
    task_id, config_id = _ids(access, words)
    asyncio.run(_delete(access, task_id, config_id))


async def _delete(access: Access, task_id: str, config_id: str) -> None:
    from a2a.types import DeleteTaskPushNotificationConfigRequest

    from a2a_adapters_client.output import Output, field

    request = DeleteTaskPushNotificationConfigRequest(task_id=task_id, id=config_id)
    async with _connected(access) as agent:
        await agent.call(
            lambda: agent.client.delete_task_push_notification_config(
                request, context=agent.context
            )
        )
    Output(access).document({}, [field("Deleted", config_id)])


def _ids(access: Access, words: list[str] | None) -> tuple[str, str]:
    rest = access.take(words or [], most=2)
    if len(rest) < 2:
        raise ConfigurationError("name a task and one of its configs: [AGENT] TASK CONFIG")
    return rest[0], rest[1]


def _lines(config: TaskPushNotificationConfig) -> Iterator[str]:
    from a2a_adapters_client.output import field

    yield field("Task", config.task_id)
    yield field("Config", config.id)
    yield field("Url", config.url)
