"""Common options: the agent of a command, credentials, transport and output."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from a2a_adapters.cli.options import Proxy, seconds, suggestion
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters_client.aliases import Aliases, complete_agent, token_for
from a2a_adapters_client.variables import (
    CREDENTIALS,
    PREFIX,
    SECRETS,
    as_option,
    load_variables,
    read_variables,
)

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_BINDINGS = {"jsonrpc": "JSONRPC", "http+json": "HTTP+JSON", "rest": "HTTP+JSON", "grpc": "GRPC"}

_SHOWN = ("jsonrpc", "http+json", "grpc")

_VERSIONS = ("1.0", "0.3", "0.2")

_NO_VARIABLES = {"stream", "config", "proxy", "allow_host"}

CONNECTION = (
    "agent_card", "bearer", "api_key", "svc_param", "extension", "transport", "a2a_version",
    "output_mode", "no_stream", "timeout", "proxy", "allow_host", "insecure", "client_cert",
    "client_key", "debug", "config",
)  # fmt: skip
"""The fields of `Access` that every command takes."""


def bindings(names: list[str] | None) -> list[str]:
    """Return the protocol's names of transports.

    Raises:
        typer.BadParameter: A transport is unknown.
    """
    for name in names or ():
        if name.lower() not in _BINDINGS:
            raise typer.BadParameter(f"unknown transport {name!r}; {suggestion(name, _SHOWN)}")
    return [_BINDINGS[name.lower()] for name in names or ()]


def version(text: str) -> str:
    """Return an A2A version as in cards: `1`, `1.0`, `0.3` or `0.2`; "" means any 1.x.

    Raises:
        typer.BadParameter: The version is not supported.
    """
    short = ".".join(text.split(".")[:2])
    if short not in {"", "1", *_VERSIONS}:
        raise typer.BadParameter(f"unsupported A2A version {text!r}; {suggestion(text, _VERSIONS)}")
    return short


def _option(flag: str, *more: str, help: str, **settings: Any) -> Any:  # noqa: A002 - as in typer
    """Return an option that its environment variable can also set."""
    variable = PREFIX + flag.removeprefix("--").replace("-", "_").upper()
    return typer.Option(flag, *more, help=help, envvar=variable, show_envvar=False, **settings)


Duration: TypeAlias = float


@dataclass(kw_only=True)
class Access:
    """The agent of a command, how to reach it, and how to print results."""

    agent_card: Annotated[
        str,
        _option(
            "--agent-card",
            "-a",
            help="Agent, in place of the first argument.",
            autocompletion=complete_agent,
        ),
    ] = ""
    output: Annotated[
        Literal["text", "json"], _option("--output", "-o", help="Format of the result.")
    ] = "text"
    stream: Annotated[
        bool,
        typer.Option("--stream", help="Print events as they arrive; with -o json, one per line."),
    ] = False
    verbose: Annotated[
        bool, _option("--verbose", help="Print all details, including metadata.")
    ] = False
    bearer: Annotated[
        str,
        _option(
            "--bearer",
            help="Bearer token. Prefer the variable: other users can read command lines.",
            show_default=False,
        ),
    ] = ""
    api_key: Annotated[
        str,
        _option(
            "--api-key",
            help="API key, sent as the card requires. Prefer the variable.",
            show_default=False,
        ),
    ] = ""
    svc_param: Annotated[
        list[str] | None,
        _option("--svc-param", "--header", help="Service parameter to send, as 'Name: value'."),
    ] = None
    extension: Annotated[
        list[str] | None, _option("--extension", help="URI of an extension to request.")
    ] = None
    metadata: Annotated[
        str, _option("--metadata", help="Metadata of the message, a JSON object.")
    ] = ""
    transport: Annotated[
        list[str] | None,
        _option(
            "--transport",
            help="jsonrpc, http+json or grpc, in order of preference. Default: the card's order.",
            callback=bindings,
        ),
    ] = None
    a2a_version: Annotated[
        str,
        _option(
            "--a2a-version",
            help="A2A version. Default: 1.x, or 0.3 or 0.2 for older agents.",
            parser=version,
            metavar="VERSION",
        ),
    ] = ""
    output_mode: Annotated[
        list[str] | None,
        _option("--output-mode", help="Media type to accept in the answer, such as text/plain."),
    ] = None
    no_stream: Annotated[
        bool, _option("--no-stream", help="Ask for whole answers, if streams of the agent fail.")
    ] = False
    proxy: Proxy = None
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", help="Host in a private network that a card may name."),
    ] = None
    timeout: Annotated[
        Duration,
        _option(
            "--timeout",
            help="Time limit, such as 90, 30s or 5m.",
            parser=seconds,
            metavar="TIME",
            show_default="15m",
        ),
    ] = 900.0
    poll_interval: Annotated[
        Duration,
        _option(
            "--poll-interval",
            help="Interval for polling a task without a stream.",
            parser=seconds,
            metavar="TIME",
            show_default="2s",
        ),
    ] = 2.0
    insecure: Annotated[
        bool, _option("--insecure", help="Skip TLS verification. For development only.")
    ] = False
    client_cert: Annotated[
        Path | None, _option("--client-cert", help="Client certificate for mutual TLS, a PEM file.")
    ] = None
    client_key: Annotated[
        Path | None,
        _option("--client-key", help="Key of the client certificate, if in another PEM file."),
    ] = None
    debug: Annotated[
        bool, _option("--debug", help="Print requests and responses to standard error.")
    ] = False
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            help="File with A2ACLI_* variables, replacing the local .env.",
            is_eager=True,
            callback=load_variables,
        ),
    ] = None

    named: str = ""
    """The agent as the user named it."""

    skill: str = ""
    """The skill that the agent's settings choose."""

    @property
    def is_json(self) -> bool:
        """Whether the output is JSON."""
        return self.output == "json"

    @cached_property
    def tls(self) -> ssl.SSLContext | None:
        """The TLS settings, None for the default; warns of unsafe ones.

        Raises:
            ConfigurationError: A file lacks the certificate or key.
        """
        if not self.insecure and self.client_cert is None:
            return None
        import ssl  # noqa: PLC0415 - `--help` needs neither

        from a2a_adapters_check.tls import unverified  # noqa: PLC0415

        if self.insecure:
            context = unverified(sends_secrets=self._has_secrets())
        else:
            context = ssl.create_default_context()
        if self.client_cert is not None:
            try:
                context.load_cert_chain(self.client_cert, self.client_key)
            except (OSError, ssl.SSLError) as error:
                raise ConfigurationError(
                    f"{self.client_cert} does not contain a certificate and key"
                ) from error
        return context

    def _has_secrets(self) -> bool:
        from a2a_adapters_client.oauth.store import Store  # noqa: PLC0415 - likewise

        return bool(self.bearer or self.api_key or self.svc_param or Store().read())

    def take(self, words: list[str], most: int, secrets: Sequence[str] = ()) -> list[str]:
        """Take the agent from the arguments unless an option names it; return the other arguments.

        Args:
            words: The arguments.
            most: Maximum number of arguments besides the agent.
            secrets: The options of the command with further secrets for the agent.

        Raises:
            ConfigurationError: There are too many arguments, or the agent is missing. Or a file
                that may come from elsewhere selects the agent, and the user does not trust it.
        """
        if not self.agent_card:
            if not words:
                raise ConfigurationError("name an agent with --agent-card or as the first argument")
            self.agent_card, *words = words
        if len(words) > most:
            raise ConfigurationError(f"unexpected argument {words[most]!r}")
        self._resolve(secrets)
        return words

    def _resolve(self, secrets: Sequence[str]) -> None:
        """Replace a name for the agent with its address, and take its credentials and limits."""
        from a2a_adapters_check.remotes import find_remote  # noqa: PLC0415 - of another command

        self.named, known = self.agent_card, Aliases().read()
        if self.named in known:
            self.agent_card = known[self.named]
            if not (self.bearer or self.api_key or self.svc_param):
                self.bearer = token_for(self.agent_card)
        elif remote := find_remote(self.named):
            given = [as_option(name) for name in CREDENTIALS if getattr(self, name, None)]
            headers = remote.headers([*given, *secrets])
            self.svc_param = [*(self.svc_param or ()), *map(": ".join, headers.items())]
            settings = remote.settings
            self.agent_card, self.skill = settings.url, settings.skill or ""
            if settings.timeout and self.timeout == type(self).timeout:
                self.timeout = settings.timeout

    def request_metadata(self) -> dict[str, Any]:
        """Return the value of `--metadata`.

        Raises:
            ConfigurationError: It is not a JSON object.
        """
        try:
            said = json.loads(self.metadata or "{}")
        except (ValueError, RecursionError) as error:
            raise ConfigurationError("--metadata is not JSON") from error
        if not isinstance(said, dict):
            raise ConfigurationError("--metadata must be a JSON object such as '{\"k\": 1}'")
        return said

    def again(self, command: str, *options: str, argument: str = "") -> str:
        """Return a shell command for the same agent, without secrets."""
        words = ["a2a-adapters", *command.split()]
        last = ["-a", self.named or self.agent_card]
        if argument.startswith("-"):
            last += ["--", argument]
        elif argument:
            words.append(argument)
        return shlex.join([*words, *options, *last])


def client_settings() -> Iterator[tuple[str, str, str]]:
    """Yield name, value and origin of settings with a value; secrets are left out."""
    files = read_variables()
    for each in fields(Access):
        if each.name in {*_NO_VARIABLES, "named", "skill"}:
            continue
        name = PREFIX + each.name.upper()
        value, origin = "" if each.default is None else str(each.default), "default"
        if name in os.environ:
            value, origin = os.environ[name], "environment"
        elif name in files:
            value, origin = files[name][0], str(files[name][1])
        if value:
            yield name, "***" if name in SECRETS else value, origin
