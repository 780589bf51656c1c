"""A client of mcp 2: calls agents at a URL, answers their questions, and follows a task.

It uses the protocol of 2026-07-28, or optionally the previous one.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Literal

from mcp import Client
from mcp.client.extension import ClientExtension, ResultClaim
from mcp_types import CallToolResult, ElicitResult, Request, RequestParams, Result
from pydantic import ConfigDict
from pydantic.alias_generators import to_camel


class Task(Result):
    """The result of a long call."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    result_type: Literal["task"] = "task"
    task_id: str


class Params(RequestParams):
    """The id of a task."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    task_id: str


class GetTask(Request[Params, Literal["tasks/get"]]):
    """Gets the state of a task."""

    method: Literal["tasks/get"] = "tasks/get"
    params: Params
    name_param = "taskId"


class Found(Result):
    """The state of a task."""

    status: str
    result: dict[str, Any] | None = None


async def follow(task, context):
    print("a task", flush=True)  # noqa: T201
    while True:
        request = GetTask(params=Params(task_id=task.task_id))
        found = await context.session.send_request(request, Found)
        if found.status == "completed":
            return CallToolResult.model_validate(found.result)


class Tasks(ClientExtension):
    """Tasks, as in SEP-2663."""

    identifier = "io.modelcontextprotocol/tasks"

    def claims(self):
        return [ResultClaim(result_type="task", model=Task, resolve=follow)]


async def answer(_context, _asked):
    return ElicitResult(action="accept", content={"answer": "Rome"})


async def progress(_done, _total, message):
    print(message)  # noqa: T201


async def main(url, mode):
    options = {"elicitation_callback": answer, "mode": mode, "extensions": [Tasks()]}
    async with Client(url, **options) as client:
        print(client.protocol_version)  # noqa: T201
        print(*(tool.name for tool in (await client.list_tools()).tools))  # noqa: T201
        for tool in ("book", "work", "long"):
            result = await client.call_tool(tool, {"message": tool}, progress_callback=progress)
            print(result.content[0].text)  # noqa: T201


asyncio.run(main(*sys.argv[1:]))
