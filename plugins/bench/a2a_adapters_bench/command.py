"""The command `a2a-adapters bench`."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Annotated

import typer
from a2a_adapters_check.tls import Insecure, unverified

from a2a_adapters.cli.exits import FAILED
from a2a_adapters.cli.options import Bearer, OutputForm, Verbose, read_parameters
from a2a_adapters.cli.terminal import echo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_adapters import RemoteOptions
    from a2a_adapters_bench.load import Figures, Load

_LABELS = {
    "answers": "answers",
    "errors": "errors",
    "answers_per_second": "answers a second",
    "first_text_ms_p50": "first text, p50, ms",
    "first_text_ms_p99": "first text, p99, ms",
    "answer_ms_p50": "whole answer, p50, ms",
    "answer_ms_p99": "whole answer, p99, ms",
    "tokens_per_second_p50": "tokens a second in a stream, p50",
    "output_tokens": "output tokens",
    "cost_usd": "cost, US dollars",
}


def bench(
    url: Annotated[
        str,
        typer.Argument(
            help="URL of the agent or of its card, or a name of the settings.", show_default=False
        ),
    ],
    message: Annotated[str, typer.Argument(help="The text of every message.")] = "Hello",
    conversations: Annotated[
        int, typer.Option("--conversations", "-n", min=1, help="Number of conversations.")
    ] = 10,
    turns: Annotated[int, typer.Option(min=1, help="Messages in each conversation.")] = 2,
    at_once: Annotated[
        int, typer.Option("--at-once", "-c", min=1, help="Conversations at the same time.")
    ] = 10,
    compare: Annotated[
        str, typer.Option(help="URL of another agent, measured in turns with the first.")
    ] = "",
    header: Annotated[
        list[str] | None,
        typer.Option(help="Header to send, such as 'X-API-Key: secret'. Repeatable."),
    ] = None,
    bearer: Bearer = "",
    timeout: Annotated[
        float, typer.Option(min=1, help="Time limit for an answer, in seconds.")
    ] = 300,
    output: OutputForm = "text",
    insecure: Insecure = False,
    _verbose: Verbose = False,
) -> None:
    """Measure an agent under load: first text, whole answers, tokens, errors, cost.

    The agent processes every message, which may cost money. The credentials are sent to the first
    agent only. Exits with 1 if a message failed.

    Examples:
      a2a-adapters bench localhost:8000 "What is A2A?" -n 50 -c 20
      a2a-adapters bench localhost:8000 --compare localhost:9000 -o json
    """
    # Importing the client takes a second, which --help must not wait for.
    from a2a_adapters import RemoteOptions  # noqa: PLC0415
    from a2a_adapters_bench.load import Load  # noqa: PLC0415

    headers = read_parameters(header or [], bearer)
    tls = unverified(sends_secrets=bool(headers)) if insecure else None
    load = Load(message, conversations, turns, at_once)
    urls = [url, compare] if compare else [url]
    options = RemoteOptions(timeout=timeout, tls=tls)
    found = asyncio.run(_measured(urls, load, headers, options))
    if output == "json":
        rows = {name: each.rows() | {"by_error": each.errors} for name, each in found.items()}
        echo(json.dumps(rows, indent=2))
    else:
        _print(found)
    if any(each.errors for each in found.values()):
        raise typer.Exit(FAILED)


async def _measured(
    urls: Sequence[str],
    load: Load,
    headers: Mapping[str, str],
    options: RemoteOptions,
) -> dict[str, Figures]:
    from a2a_adapters_check.host import Host  # noqa: PLC0415
    from a2a_adapters_check.remotes import find_remote  # noqa: PLC0415

    from a2a_adapters import HeadersAuth, RemoteAgent  # noqa: PLC0415
    from a2a_adapters_bench.load import measure  # noqa: PLC0415

    agents = {}
    async with AsyncExitStack() as stack:
        for number, typed in enumerate(urls):
            url, own = typed, headers if number == 0 else {}
            if remote := find_remote(typed):
                url = remote.settings.url
                own = {**own, **remote.headers(["--bearer or --header"] if own else [])}
            auth = HeadersAuth(own) if own else None
            address = await Host(url, auth, options).agent()
            agent = RemoteAgent(str(address), auth=auth, options=options)
            agents[str(address)] = await stack.enter_async_context(agent)
            await agent.describe()  # so that the first message does not wait for the card
        return await measure(agents, load)


def _print(found: Mapping[str, Figures]) -> None:
    """Print a table with a column for each agent, and the ratio of two."""
    rows = [each.rows() for each in found.values()]
    is_pair = len(rows) == 2
    columns = ["first", "second", "ratio"] if is_pair else [""]
    for column, name in zip(columns, found, strict=False):
        echo(f"{column}: {name}" if column else name)
    width = max(map(len, _LABELS.values()))
    if is_pair:
        echo(" ".join([" " * width, *(f"{column:>12}" for column in columns)]))
    for key, label in _LABELS.items():
        values = [each[key] for each in rows]
        if all(value is None for value in values):
            continue
        shown = [_shown(value) for value in values]
        if is_pair:
            first, second = values
            shown.append(f"{first / second:.2f}" if first and second else "")
        echo(" ".join([f"{label:{width}}", *(f"{each:>12}" for each in shown)]).rstrip())
    for name, each in found.items():
        for error, count in each.errors.most_common():
            echo(f"{name}: {count} x {error}", err=True)


def _shown(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
