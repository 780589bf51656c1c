"""`a2a-adapters serve`: serve a target of the user's until interrupted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from a2a_adapters.cli.exits import FAILED
from a2a_adapters.cli.options import Verbose
from a2a_adapters.cli.targets import load_targets
from a2a_adapters.concurrency.threads import busy_threads
from a2a_adapters.errors import ConfigurationError

if TYPE_CHECKING:
    from a2a_adapters.serving.signing import CardSigner

TargetsArgument = Annotated[
    list[str], typer.Argument(metavar="[NAME=]MODULE:ATTRIBUTE", show_default=False)
]


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
    cors: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="Let web pages of this origin use the agent."),
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
    storage: Annotated[
        str,
        typer.Option(
            envvar="A2A_ADAPTERS_STORAGE",
            help="Where all is kept: memory:, sqlite:///file.db or postgresql://...",
        ),
    ] = "memory:",
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
    _verbose: Verbose = False,
) -> None:
    """Serve MODULE:ATTRIBUTE or FILE.py:ATTRIBUTE as an A2A agent until interrupted.

    Several are served under /agents/NAME/ each.
    """
    # These cost a second that --help need not wait.
    from a2a_adapters.net import OutboundPolicy  # noqa: PLC0415
    from a2a_adapters.runtime.push.options import PushOptions  # noqa: PLC0415
    from a2a_adapters.security.credentials import authenticator  # noqa: PLC0415
    from a2a_adapters.serving import server  # noqa: PLC0415
    from a2a_adapters.serving.options import ServerOptions  # noqa: PLC0415

    notify = PushOptions(outbound=OutboundPolicy(allow_private=push_private))
    options = ServerOptions(
        authentication=authenticator(bearer_token_file, api_key_file, os.environ),
        allowed_hosts=allow_host or (),
        cors_origins=cors or (),
        trust_forwarded=trust_forwarded,
        grpc_port=grpc_port,
        grpc_url=grpc_url,
        push=notify if push or push_private else None,
        storage=storage,
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
    if busy_threads():
        os._exit(FAILED)  # Python itself would wait for threads that they have begun


def _card_signer(path: Path) -> CardSigner:
    from a2a_adapters.serving.signing import card_signer  # noqa: PLC0415

    try:
        return card_signer(path.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
