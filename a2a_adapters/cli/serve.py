"""`a2a-adapters serve`: serve a target of the user's until interrupted."""

from __future__ import annotations

import logging
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from a2a_adapters.cli.exits import FAILED, exit_code, located
from a2a_adapters.cli.options import ConfigFile, Verbose
from a2a_adapters.cli.targets import parse_targets
from a2a_adapters.concurrency.threads import busy_threads
from a2a_adapters.contract.errors import A2AAdaptersError, ConfigurationError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Mapping

logger = logging.getLogger("a2a_adapters.cli")

TargetsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME=]MODULE:ATTRIBUTE", show_default=False)
]


def serve(
    targets: TargetsArgument = None,
    config: ConfigFile = None,
    host: Annotated[str | None, typer.Option(help="Where to listen.")] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Where to listen; 0 takes a free port."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="The agent's name in its card.")] = None,
    description: Annotated[str | None, typer.Option(help="What the card says it does.")] = None,
    url: Annotated[str | None, typer.Option(help="The public address in the card.")] = None,
    bearer_token_file: Annotated[
        Path | None, typer.Option(help="Ask for bearer tokens: lines of `user: token`.")
    ] = None,
    api_key_file: Annotated[
        Path | None, typer.Option(help="Ask for API keys in X-API-Key: lines of `user: key`.")
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Without authentication, a name requests may use besides localhost."),
    ] = None,
    cors: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="Let web pages of this origin use the agent."),
    ] = None,
    trust_forwarded: Annotated[
        bool | None,
        typer.Option(help="Believe X-Forwarded-* headers, behind a proxy that sets them."),
    ] = None,
    grpc_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Listen for gRPC as well; 0 takes a free port."),
    ] = None,
    grpc_url: Annotated[str | None, typer.Option(help="Its public address in the card.")] = None,
    push: Annotated[
        bool | None, typer.Option(help="Offer push notifications to public web servers.")
    ] = None,
    push_private: Annotated[
        bool,
        typer.Option("--push-private", help="Offer them to private networks too; implies --push."),
    ] = False,
    storage: Annotated[
        str | None,
        typer.Option(help="Where all is kept: memory:, sqlite:///file.db or postgresql://..."),
    ] = None,
    bus: Annotated[
        str | None,
        typer.Option(help="By what processes with one storage talk, if not that: redis://..."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="So many processes at one port, with a storage in PostgreSQL."),
    ] = None,
    worker: Annotated[str | None, typer.Option(hidden=True)] = None,
    console: Annotated[
        bool | None,
        typer.Option(help="Show a page at /console; by default at a terminal, for this machine."),
    ] = None,
    metrics: Annotated[bool | None, typer.Option(help="Show figures at /metrics.")] = None,
    card_key: Annotated[
        Path | None, typer.Option(help="A PEM file: the private key that signs the card.")
    ] = None,
    log_format: Annotated[
        Literal["text", "json"] | None,
        typer.Option(help="Write the log for people, or as JSON."),
    ] = None,
    dialect: Annotated[
        list[str] | None, typer.Option(help="A dialect of A2A to speak as well, by its name.")
    ] = None,
    allow_unauthenticated: Annotated[
        bool | None, typer.Option(help="Serve other machines too, without asking who they are.")
    ] = None,
    keep_going: Annotated[
        bool | None,
        typer.Option("--keep-going", help="Serve the other agents when one cannot be opened."),
    ] = None,
    reload: Annotated[
        bool, typer.Option("--reload", help="Start again whenever a file in this folder changes.")
    ] = False,
    _verbose: Verbose = False,
) -> None:
    """Serve MODULE:ATTRIBUTE or FILE.py:ATTRIBUTE as an A2A agent until interrupted.

    Several are served under /agents/NAME/ each. Without any, those of a2a-adapters.toml are.
    """
    if push_private and push is False:
        raise ConfigurationError("--no-push and --push-private contradict each other")
    if reload:
        restart_on_change()
        return
    # These cost a second that --help need not wait.
    from a2a_adapters.cli.sources import gather  # noqa: PLC0415
    from a2a_adapters.cli.workers import Workers, check, inherited  # noqa: PLC0415
    from a2a_adapters.observability.logs import log_process  # noqa: PLC0415
    from a2a_adapters.serving import server  # noqa: PLC0415

    said = {
        **_what(targets),
        "host": host,
        "port": port,
        "name": name,
        "description": description,
        "url": url,
        "bearer_token_file": bearer_token_file,
        "api_key_file": api_key_file,
        "allowed_hosts": allow_host,
        "cors_origins": cors,
        "trust_forwarded": trust_forwarded,
        "grpc_port": grpc_port,
        "grpc_url": grpc_url,
        "push": {"allow_private": True} if push_private else push,
        "storage": storage,
        "bus": bus,
        "workers": workers,
        "console": console,
        "metrics": metrics,
        "card_key": card_key,
        "log_format": log_format,
        "dialects": dialect,
        "allow_unauthenticated": allow_unauthenticated,
        "keep_going": keep_going,
    }
    sources = gather({key: value for key, value in said.items() if value is not None}, config)
    settings = sources.settings()
    log_process(settings.log_format, is_loading=True)
    if settings.workers > 1 and worker is None:
        check(settings)
        raise typer.Exit(Workers(settings).run())
    options, sockets = settings.options(), None
    if worker is not None:
        sockets, figures = inherited(worker)
        options = replace(options, metrics=settings.metrics and figures)
    try:
        server.serve(
            settings.load(sources.folder),
            host=settings.host,
            port=settings.port,
            name=settings.name,
            description=settings.description,
            url=settings.url,
            options=options,
            dialects=settings.dialects,
            allow_unauthenticated=settings.allow_unauthenticated,
            sockets=sockets,
        )
    except (A2AAdaptersError, OSError) as error:
        if settings.log_format == "text":
            raise
        logger.critical(located(error))
        raise typer.Exit(exit_code(error)) from error
    if busy_threads():
        os._exit(FAILED)  # Python itself would wait for threads that they have begun


def _what(targets: list[str] | None) -> Mapping[str, Any]:
    if not targets:
        return {}
    paths = parse_targets(targets)
    if isinstance(paths, str):
        return {"target": paths}
    return {"agents": {name: {"target": path} for name, path in paths.items()}}


def restart_on_change() -> None:
    """Run this command without `--reload`, again after each change to a file of this folder.

    Raises:
        MissingExtraError: watchfiles is not installed.
    """
    try:
        from watchfiles import Change, DefaultFilter, run_process  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("--reload", "reload") from error

    class Sources(DefaultFilter):
        """What an agent is written in; not what it writes."""

        def __call__(self, change: Change, path: str) -> bool:
            suffixes = (".py", ".toml", ".yaml", ".yml", ".json", ".env")
            return path.endswith(suffixes) and super().__call__(change, path)

    logging.getLogger("watchfiles").setLevel(logging.ERROR)  # it warns of Ctrl-C
    arguments = [each for each in sys.argv[1:] if each != "--reload"]
    command = shlex.join([sys.executable, "-m", "a2a_adapters", *arguments])
    run_process(Path.cwd(), target=command, target_type="command", watch_filter=Sources())
