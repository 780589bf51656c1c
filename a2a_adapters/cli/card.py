"""`a2a-adapters card`: what an agent says of itself."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Annotated

import typer

from a2a_adapters.cli.addresses import as_url
from a2a_adapters.cli.exits import UNREACHABLE, USAGE, fail
from a2a_adapters.cli.options import Verbose
from a2a_adapters.cli.tables import make_table
from a2a_adapters.cli.targets import load_target
from a2a_adapters.errors import RemoteAgentError, RemoteAnswerError


def card(
    source: Annotated[str, typer.Argument(metavar="URL|MODULE:ATTRIBUTE", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print the card itself.")] = False,
    _verbose: Verbose = False,
) -> None:
    """Show the card of a running agent, or the one that a target would get."""
    url = as_url(source)
    content = _fetch(url) if "://" in url else asyncio.run(_make(source))
    if as_json or not sys.stdout.isatty():
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        _show(content)


async def _make(path: str) -> dict[str, object]:
    from a2a.server.request_handlers.response_helpers import agent_card_to_dict  # noqa: PLC0415

    from a2a_adapters.protocol.card import build_card  # noqa: PLC0415
    from a2a_adapters.serving.agents import as_executor  # noqa: PLC0415
    from a2a_adapters.serving.opening import opened  # noqa: PLC0415

    async with opened(load_target(path)) as target:
        description = as_executor(target).adapter.describe()
    return agent_card_to_dict(build_card(description, "http://127.0.0.1:8000"))


def _fetch(url: str) -> dict[str, object]:
    from a2a_adapters.calling.card import agent_url, fetch_card_json  # noqa: PLC0415
    from a2a_adapters.calling.http import make_client  # noqa: PLC0415
    from a2a_adapters.calling.options import RemoteOptions  # noqa: PLC0415
    from a2a_adapters.cli.several import agents_at, name_one  # noqa: PLC0415

    address, options = agent_url(url), RemoteOptions(timeout=10, retries=0)

    async def fetch() -> bytes:
        async with make_client(address, options, None) as client:
            return await fetch_card_json(client, address, options)

    try:
        content = json.loads(asyncio.run(fetch()))
    except (RemoteAgentError, ValueError) as error:
        if isinstance(error, RemoteAnswerError) and (agents := agents_at(url)):
            fail(name_one(url, agents), USAGE)
        fail(f"no card at {url}: {error}", UNREACHABLE)
    if not isinstance(content, dict) or "name" not in content:
        fail(f"what {url} answers is not an agent card", UNREACHABLE)
    return content


def _show(content: dict[str, object]) -> None:
    from rich.console import Console  # noqa: PLC0415 - costs what programs need not wait for
    from rich.markup import escape  # noqa: PLC0415

    console = Console()
    console.print(f"[bold]{escape(str(content['name']))}[/] {escape(str(content.get('version')))}")
    console.print(escape(str(content.get("description", ""))))
    skills = content.get("skills")
    rows = [
        [
            str(skill.get("name")),
            str(skill.get("description")),
            "\n".join(map(str, skill.get("examples", []))),
        ]
        for skill in (skills if isinstance(skills, list) else [])
    ]
    console.print(make_table(("skill", "description", "examples"), rows))
    interfaces = content.get("supportedInterfaces")
    for interface in interfaces if isinstance(interfaces, list) else []:
        binding = f"{interface.get('protocolBinding')} {interface.get('protocolVersion')}"
        console.print(escape(f"{binding:14} {interface.get('url')}"), soft_wrap=True)
