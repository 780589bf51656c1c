"""`a2a-adapters serve`: serves targets until interrupted."""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from a2a_adapters.cli.exits import FAILED, exit_code, located
from a2a_adapters.cli.options import Verbose
from a2a_adapters.cli.targets import parse_targets
from a2a_adapters.concurrency.threads import busy_threads
from a2a_adapters.contract.errors import A2AAdaptersError, ConfigurationError
from a2a_adapters_server.config import ConfigFile

if TYPE_CHECKING:
    from collections.abc import Mapping

logger = logging.getLogger("a2a_adapters.cli")

TargetsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME=]MODULE:ATTRIBUTE", show_default=False)
]


def serve(
    targets: TargetsArgument = None,
    config: ConfigFile = None,
    host: Annotated[str | None, typer.Option(help="The address to listen on.")] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="The port to listen on; 0 takes a free one. Default: PORT, or 8000 or the next.",
        ),
    ] = None,
    platform: Annotated[
        str | None,
        typer.Option(help="The host whose settings to use: agentcore (AWS Bedrock)."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="The agent's name in its card.")] = None,
    description: Annotated[str | None, typer.Option(help="The description in the card.")] = None,
    url: Annotated[str | None, typer.Option(help="The public address in the card.")] = None,
    bearer_token_file: Annotated[
        Path | None, typer.Option(help="Require bearer tokens; lines of `user: token`.")
    ] = None,
    api_key_file: Annotated[
        Path | None, typer.Option(help="Require API keys in X-API-Key; lines of `user: key`.")
    ] = None,
    forwarded_user: Annotated[
        str | None,
        typer.Option(
            metavar="FRONT",
            help="Take the user from a trusted front: alb, azure, databricks, iap, oauth2-proxy, "
            "or from a header X-...",
        ),
    ] = None,
    allowed_hosts: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            help="Without authentication, a host name to accept besides localhost.",
        ),
    ] = None,
    cors_origins: Annotated[
        list[str] | None,
        typer.Option(
            "--cors", metavar="ORIGIN", help="Let web pages of this origin use the agent."
        ),
    ] = None,
    trust_forwarded: Annotated[
        bool | None,
        typer.Option(help="Trust X-Forwarded-* and Forwarded, behind a proxy that sets them."),
    ] = None,
    root_path: Annotated[
        str | None,
        typer.Option(help="The path at which a proxy offers the server, such as /team."),
    ] = None,
    grpc_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Also listen for gRPC; 0 takes a free port."),
    ] = None,
    grpc_url: Annotated[str | None, typer.Option(help="Its public address in the card.")] = None,
    push: Annotated[
        bool | None, typer.Option(help="Send push notifications to public web servers.")
    ] = None,
    push_private: Annotated[
        bool,
        typer.Option("--push-private", help="Also send them to private networks; implies --push."),
    ] = False,
    storage: Annotated[
        str | None,
        typer.Option(help="The storage: memory:, sqlite:///file.db or postgresql://..."),
    ] = None,
    bus: Annotated[
        str | None,
        typer.Option(help="The message bus between processes with one storage: redis://..."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Number of processes, which need a storage in PostgreSQL."),
    ] = None,
    worker: Annotated[str | None, typer.Option(hidden=True)] = None,
    console: Annotated[
        bool | None,
        typer.Option(help="Serve a chat page at /console; by default at a terminal, on localhost."),
    ] = None,
    metrics: Annotated[bool | None, typer.Option(help="Serve metrics at /metrics.")] = None,
    card_key: Annotated[
        Path | None, typer.Option(help="A PEM file with the private key that signs the card.")
    ] = None,
    log_format: Annotated[
        Literal["text", "json"] | None,
        typer.Option(help="The format of the log."),
    ] = None,
    dialects: Annotated[
        list[str] | None,
        typer.Option("--dialect", help="The name of an additional dialect to speak."),
    ] = None,
    allow_unauthenticated: Annotated[
        bool | None, typer.Option(help="Serve other machines without authentication.")
    ] = None,
    keep_going: Annotated[
        bool | None,
        typer.Option("--keep-going", help="Serve the other agents if one cannot be opened."),
    ] = None,
    preview: Annotated[
        Literal["1.1"] | None,
        typer.Option(help="Also serve the next version of A2A, as it is drafted."),
    ] = None,
    reload: Annotated[
        bool, typer.Option("--reload", help="Restart when a file in this folder changes.")
    ] = False,
    opens: Annotated[
        bool, typer.Option("--open", help="Open the console, or a page, in a browser.")
    ] = False,
    _verbose: Verbose = False,
) -> None:
    """Serve MODULE:ATTRIBUTE or FILE.py:ATTRIBUTE as an A2A agent until interrupted.

    Several targets are served under /agents/NAME/. The default is those of a2a-adapters.toml.

    Examples:
      a2a-adapters serve app:agent --open
      a2a-adapters serve poet=poems.py:chain critic=app:graph --storage sqlite:///tasks.db
    """
    said = locals()
    if push_private and push is False:
        raise ConfigurationError("--no-push and --push-private contradict each other")
    if reload:
        from a2a_adapters_server.reload import restart_on_change  # noqa: PLC0415 - as below

        restart_on_change()
        return
    # Imported late: they take a second, which --help does not need.
    from a2a_adapters.observability.logs import log_process  # noqa: PLC0415
    from a2a_adapters.serving import server  # noqa: PLC0415
    from a2a_adapters_server.banner import banner  # noqa: PLC0415
    from a2a_adapters_server.platforms import own_dialects  # noqa: PLC0415
    from a2a_adapters_server.settings import ServerSettings  # noqa: PLC0415
    from a2a_adapters_server.sources import DEFAULT, gather  # noqa: PLC0415
    from a2a_adapters_server.workers import Workers, check, inherited  # noqa: PLC0415

    known = ServerSettings.model_fields
    given = {name: value for name, value in said.items() if name in known and value is not None}
    if push_private:
        given["push"] = {"allow_private": True}
    sources = gather({**_targets(targets), **given}, config)
    settings = sources.settings()
    chosen_port = None if sources.origin("port") == DEFAULT else settings.port
    log_process(settings.log_format, is_loading=True)
    if settings.workers > 1 and worker is None:
        check(settings)
        raise typer.Exit(Workers(settings, chosen_port).run())
    options, sockets, on_start = settings.options(), None, None
    if worker is not None:
        sockets, figures = inherited(worker)
        options = replace(options, metrics=settings.metrics and figures)
    elif settings.log_format == "text" and sys.stderr.isatty():
        on_start = banner(settings, opens=opens)
    try:
        server.serve(
            settings.load(sources.folder),
            host=settings.host,
            port=chosen_port,
            name=settings.name,
            description=settings.description,
            card=settings.card.card(),
            url=settings.url,
            options=options,
            dialects=[
                *settings.consoles(),
                *settings.dialects,
                *own_dialects(settings.platform),
                "page",
            ],
            allow_unauthenticated=settings.allow_unauthenticated,
            sockets=sockets,
            on_start=on_start,
        )
    except (A2AAdaptersError, OSError) as error:
        if settings.log_format == "text":
            raise
        logger.critical(located(error))
        raise typer.Exit(exit_code(error)) from error
    if busy_threads():
        os._exit(FAILED)  # Python would wait for threads that these calls have started


def _targets(targets: list[str] | None) -> Mapping[str, Any]:
    if not targets:
        return {}
    paths = parse_targets(targets)
    if isinstance(paths, str):
        return {"target": paths}
    return {"agents": {name: {"target": path} for name, path in paths.items()}}
