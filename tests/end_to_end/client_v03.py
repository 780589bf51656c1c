"""The official A2A 0.3 client, run by a separate interpreter (`a2a-sdk>=0.3,<0.4`).

Prints what it receives as JSON lines; the last one is `{"error": ...}`, with exit status 1,
when the client raised.

    client_v03.py URL card
    client_v03.py URL send TEXT [--context ID] [--task ID] [--binding NAME]
    client_v03.py URL stream TEXT [--context ID] [--task ID] [--binding NAME]
    client_v03.py URL get TASK [--binding NAME]
    client_v03.py URL cancel TASK [--binding NAME]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator
from uuid import uuid4

import httpx
from a2a.client import A2ACardResolver, A2AClientError, Client, ClientConfig, ClientFactory
from a2a.types import (
    Message,
    Part,
    Role,
    TaskIdParams,
    TaskQueryParams,
    TextPart,
    TransportProtocol,
)
from grpc.aio import insecure_channel
from pydantic import BaseModel


async def main(options: argparse.Namespace) -> None:
    async with httpx.AsyncClient(timeout=60, limits=httpx.Limits(keepalive_expiry=1)) as http:
        card = await A2ACardResolver(http, options.url).get_agent_card()
        if options.action == "card":
            show("card", card)
            return
        config = ClientConfig(
            httpx_client=http,
            supported_transports=[TransportProtocol(options.binding)],
            grpc_channel_factory=lambda url: insecure_channel(url.removeprefix("http://")),
            streaming=options.action == "stream",
        )
        client = ClientFactory(config).create(card)
        async for kind, value in act(client, options):
            show(kind, value)


async def act(client: Client, options: argparse.Namespace) -> AsyncIterator[tuple[str, BaseModel]]:
    """Yield everything received, with its kind."""
    if options.action == "get":
        yield "task", await client.get_task(TaskQueryParams(id=options.argument))
    elif options.action == "cancel":
        yield "task", await client.cancel_task(TaskIdParams(id=options.argument))
    else:
        async for event in client.send_message(message(options)):
            if isinstance(event, Message):
                yield "message", event
            else:
                task, update = event  # the task as assembled by the client
                yield (update.kind, update) if update else ("task", task)


def message(options: argparse.Namespace) -> Message:
    return Message(
        message_id=str(uuid4()),
        role=Role.user,
        parts=[Part(root=TextPart(text=options.argument))],
        context_id=options.context,
        task_id=options.task,
    )


def show(kind: str, value: BaseModel) -> None:
    data = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    emit({kind: data})


def emit(line: dict[str, object]) -> None:
    print(json.dumps(line), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("action", choices=["card", "send", "stream", "get", "cancel"])
    parser.add_argument("argument", nargs="?", default="", help="a text or the id of a task")
    parser.add_argument("--context")
    parser.add_argument("--task")
    parser.add_argument("--binding", default="JSONRPC", help="JSONRPC, HTTP+JSON or GRPC")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        asyncio.run(main(parse()))
    except A2AClientError as error:
        emit({"error": f"{type(error).__name__}: {error}"})
        sys.exit(1)
