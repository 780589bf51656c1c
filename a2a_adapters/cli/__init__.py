"""The command line: `a2a-adapters serve | call | card | plugins`."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from a2a_adapters.cli.call import call
from a2a_adapters.cli.ending import UNREACHABLE, USAGE, fail
from a2a_adapters.errors import A2AAdaptersError, ConfigurationError, RemoteAgentError
from a2a_adapters.plugins import installed_plugins
from a2a_adapters.threads import busy_threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_adapters.signing import CardSigner

__all__ = ["app", "main"]

app = typer.Typer(
    name="a2a-adapters",
    help="Serve what you have as an A2A agent, and call any other.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.command()(call)

TargetsArgument = Annotated[
    list[str], typer.Argument(metavar="[NAME=]MODULE:ATTRIBUTE", show_default=False)
]


@app.command()
def serve(
    targets: TargetsArgument,
    host: Annotated[
        str, typer.Option(envvar="A2A_ADAPTERS_HOST", help="Where to listen.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            envvar="A2A_ADAPTERS_PORT",
            min=0,
            max=65535,
            help="Where to listen; 0 takes a free port.",
        ),
    ] = 8000,
    name: Annotated[str | None, typer.Option(help="The agent's name in its card.")] = None,
    description: Annotated[str | None, typer.Option(help="What the card says it does.")] = None,
    url: Annotated[
        str | None, typer.Option(envvar="A2A_ADAPTERS_URL", help="The public address in the card.")
    ] = None,
    bearer_token_file: Annotated[
        Path | None,
        typer.Option(
            envvar="A2A_ADAPTERS_BEARER_TOKEN_FILE",
            help="Ask for bearer tokens: lines of `user: token`.",
        ),
    ] = None,
    api_key_file: Annotated[
        Path | None,
        typer.Option(
            envvar="A2A_ADAPTERS_API_KEY_FILE",
            help="Ask for API keys in X-API-Key: lines of `user: key`.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Without authentication, a name requests may use besides localhost."),
    ] = None,
    trust_forwarded: Annotated[
        bool, typer.Option(help="Believe X-Forwarded-* headers, behind a proxy that sets them.")
    ] = False,
    grpc_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Listen for gRPC as well; 0 takes a free port."),
    ] = None,
    grpc_url: Annotated[str | None, typer.Option(help="Its public address in the card.")] = None,
    push: Annotated[
        bool, typer.Option("--push", help="Offer push notifications to public web servers.")
    ] = False,
    push_private: Annotated[
        bool, typer.Option("--push-private", help="Offer them to private networks too.")
    ] = False,
    metrics: Annotated[bool, typer.Option("--metrics", help="Show figures at /metrics.")] = False,
    card_key: Annotated[
        Path | None, typer.Option(help="A PEM file: the private key that signs the card.")
    ] = None,
    log_format: Annotated[
        Literal["text", "json"], typer.Option(help="Write the log for people, or as JSON.")
    ] = "text",
    dialect: Annotated[
        list[str] | None, typer.Option(help="A dialect of A2A to speak as well, by its name.")
    ] = None,
    allow_unauthenticated: Annotated[
        bool, typer.Option(help="Serve other machines too, without asking who they are.")
    ] = False,
) -> None:
    """Serve MODULE:ATTRIBUTE as an A2A agent until interrupted.

    Several are served under /agents/NAME/ each.
    """
    # These cost a second that --help need not wait.
    from a2a_adapters import server  # noqa: PLC0415
    from a2a_adapters.options import ServerOptions  # noqa: PLC0415
    from a2a_adapters.outbound import OutboundPolicy  # noqa: PLC0415
    from a2a_adapters.push import PushOptions  # noqa: PLC0415
    from a2a_adapters.security.credentials import authenticator  # noqa: PLC0415

    notify = PushOptions(outbound=OutboundPolicy(allow_private=push_private))
    options = ServerOptions(
        authentication=authenticator(bearer_token_file, api_key_file, os.environ),
        allowed_hosts=allow_host or (),
        trust_forwarded=trust_forwarded,
        grpc_port=grpc_port,
        grpc_url=grpc_url,
        push=notify if push or push_private else None,
        metrics=metrics,
        card_signer=_card_signer(card_key) if card_key else None,
        log_format=log_format,
    )
    server.serve(
        load_targets(targets),
        host=host,
        port=port,
        name=name,
        description=description,
        url=url,
        options=options,
        dialects=dialect or (),
        allow_unauthenticated=allow_unauthenticated,
    )
    if left := busy_threads():
        typer.echo(f"a2a-adapters: left {left} blocking call(s) behind", err=True)
        os._exit(1)  # Python itself would wait for them, for ever if need be


def _card_signer(path: Path) -> CardSigner:
    from a2a_adapters.signing import card_signer  # noqa: PLC0415

    try:
        return card_signer(path.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error


@app.command()
def card(
    source: Annotated[str, typer.Argument(metavar="URL|MODULE:ATTRIBUTE", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print the card itself.")] = False,
) -> None:
    """Show the card of a running agent, or the one that a target would get."""
    content = _fetch_card(source) if "://" in source else _make_card(source)
    if as_json or not sys.stdout.isatty():
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        _print_card(content)


@app.command()
def plugins() -> None:
    """List the plugins found here, what they do, and why one is not loaded."""
    statuses = installed_plugins().statuses()
    rows = [
        (s.name, s.version, s.value, ", ".join(s.hooks), s.problem or "loaded") for s in statuses
    ]
    _print_table(("plugin", "version", "module", "hooks", "status"), rows)
    if any(status.problem for status in statuses):
        raise typer.Exit(1)


def load_targets(arguments: Sequence[str]) -> object:
    """Import `module:attribute`, or several `name=module:attribute` as a mapping.

    Raises:
        ConfigurationError: Several have no names, or the same one; or one cannot be imported.
    """
    if len(arguments) == 1 and "=" not in arguments[0]:
        return load_target(arguments[0])
    targets: dict[str, object] = {}
    for argument in arguments:
        name, separator, path = argument.partition("=")
        if not separator:
            raise ConfigurationError(f"{argument!r} needs a name, as in poet={argument}")
        if name in targets:
            raise ConfigurationError(f"there are two agents named {name!r}")
        targets[name] = load_target(path)
    return targets


def load_target(path: str) -> object:
    """Import `module:attribute`, looking in the current folder first.

    Raises:
        ConfigurationError: There is no such module or attribute, or importing it fails.
    """
    module_name, _, attribute = path.partition(":")
    if not module_name or not attribute:
        raise ConfigurationError(f"{path!r} is not of the form module:attribute, as in app:chain")
    installed_plugins().prepare_process()
    sys.path.insert(0, str(Path.cwd()))
    try:
        target: object = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        hint = "run this in the folder that holds it" if error.name == module_name else "install it"
        raise ConfigurationError(f"there is no module {error.name!r}; {hint}") from error
    except Exception as error:
        raise ConfigurationError(
            f"importing {module_name} failed: {type(error).__name__}: {error}"
        ) from error
    for part in attribute.split("."):
        if not hasattr(target, part):
            raise ConfigurationError(f"{module_name} has no attribute {part!r}")
        target = getattr(target, part)
    return target


def main() -> None:
    """Run the command line; errors are one line with the remedy."""
    try:
        app()
    except A2AAdaptersError as error:
        fail(str(error), USAGE)


def _make_card(path: str) -> dict[str, object]:
    from a2a.server.request_handlers.response_helpers import agent_card_to_dict  # noqa: PLC0415

    from a2a_adapters.agents import as_executor  # noqa: PLC0415
    from a2a_adapters.card import build_card  # noqa: PLC0415

    description = as_executor(load_target(path)).adapter.describe()
    return agent_card_to_dict(build_card(description, "http://127.0.0.1:8000"))


def _fetch_card(url: str) -> dict[str, object]:
    from a2a_adapters.remote.card import agent_url, fetch_card_json  # noqa: PLC0415
    from a2a_adapters.remote.http import make_client  # noqa: PLC0415
    from a2a_adapters.remote.options import RemoteOptions  # noqa: PLC0415

    address, options = agent_url(url), RemoteOptions(timeout=10, retries=0)

    async def fetch() -> bytes:
        async with make_client(address, options, None) as client:
            return await fetch_card_json(client, address, options)

    try:
        content = json.loads(asyncio.run(fetch()))
    except (RemoteAgentError, ValueError) as error:
        fail(f"no card at {url}: {error}", UNREACHABLE)
    if not isinstance(content, dict) or "name" not in content:
        fail(f"what {url} answers is not an agent card", UNREACHABLE)
    return content


def _print_card(content: dict[str, object]) -> None:
    from rich.console import Console  # noqa: PLC0415
    from rich.markup import escape  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    console = Console()
    console.print(f"[bold]{escape(str(content['name']))}[/] {escape(str(content.get('version')))}")
    console.print(escape(str(content.get("description", ""))))
    table = Table("skill", "description", "examples")
    skills = content.get("skills")
    for skill in skills if isinstance(skills, list) else []:
        cells = (skill.get("name"), skill.get("description"), "\n".join(skill.get("examples", [])))
        table.add_row(*(escape(str(cell)) for cell in cells))
    console.print(table)
    interfaces = content.get("supportedInterfaces")
    for interface in interfaces if isinstance(interfaces, list) else []:
        binding = f"{interface.get('protocolBinding')} {interface.get('protocolVersion')}"
        console.print(escape(f"{binding:14} {interface.get('url')}"))


def _print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if not sys.stdout.isatty():
        for row in rows:
            typer.echo("\t".join(row))
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.markup import escape  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(*header)
    for row in rows:
        table.add_row(*(escape(cell.replace(", ", "\n")) for cell in row))
    Console().print(table)
