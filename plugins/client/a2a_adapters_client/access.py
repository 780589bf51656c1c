"""Which agent a command talks to, and how: the options that all of its commands have."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from a2a_adapters.cli.options import seconds, suggestion
from a2a_adapters.cli.terminal import note
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters_client.variables import PREFIX, SECRETS, load_variables, read_variables

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator
    from pathlib import Path

_BINDINGS = {"jsonrpc": "JSONRPC", "http+json": "HTTP+JSON", "rest": "HTTP+JSON", "grpc": "GRPC"}

_SHOWN = ("jsonrpc", "http+json", "grpc")

_VERSIONS = ("1.0", "0.3")

_NO_VARIABLES = {"stream", "config"}


def bindings(names: list[str] | None) -> list[str]:
    """Return what transports are called in the protocol.

    Raises:
        typer.BadParameter: There is none of a name.
    """
    for name in names or ():
        if name.lower() not in _BINDINGS:
            raise typer.BadParameter(f"there is no transport {name!r}; {suggestion(name, _SHOWN)}")
    return [_BINDINGS[name.lower()] for name in names or ()]


def version(text: str) -> str:
    """Return a version of A2A as agents' cards begin it: `1`, `1.0` or `0.3`; "" is any 1.x.

    Raises:
        typer.BadParameter: It is one that is not spoken here.
    """
    short = ".".join(text.split(".")[:2])
    if short not in {"", "1", *_VERSIONS}:
        raise typer.BadParameter(f"A2A {text!r} is not spoken here; {suggestion(text, _VERSIONS)}")
    return short


def _option(flag: str, *more: str, help: str, **settings: Any) -> Any:  # noqa: A002 - as in typer
    """Return an option that can also be set by its variable."""
    variable = PREFIX + flag.removeprefix("--").replace("-", "_").upper()
    return typer.Option(flag, *more, help=help, envvar=variable, **settings)


Duration: TypeAlias = float


@dataclass(kw_only=True)
class Access:
    """What is said of the agent and of the output."""

    agent_card: Annotated[
        str,
        _option(
            "--agent-card",
            "-a",
            help="The agent: a host, an address, its card's address or file, or HOST#NAME of a "
            "catalog. Without it the first argument names the agent.",
        ),
    ] = ""
    output: Annotated[
        Literal["text", "json"], _option("--output", "-o", help="How the result is printed.")
    ] = "text"
    stream: Annotated[
        bool,
        typer.Option("--stream", help="Print events as they come; with -o json one a line."),
    ] = False
    verbose: Annotated[
        bool, _option("--verbose", help="Print everything that is known, metadata included.")
    ] = False
    bearer: Annotated[
        str,
        _option(
            "--bearer",
            help="A bearer token. On the command line others of this machine can read it: "
            "set the variable.",
            show_default=False,
        ),
    ] = ""
    api_key: Annotated[
        str,
        _option(
            "--api-key",
            help="An API key, for where the card wants it. The same holds for it.",
            show_default=False,
        ),
    ] = ""
    svc_param: Annotated[
        list[str] | None,
        _option(
            "--svc-param", "--header", help="A service parameter, 'Name: value', to send along."
        ),
    ] = None
    extension: Annotated[
        list[str] | None, _option("--extension", help="The URI of an extension to ask for.")
    ] = None
    metadata: Annotated[
        str, _option("--metadata", help="A JSON object that goes along with a message.")
    ] = ""
    transport: Annotated[
        list[str] | None,
        _option(
            "--transport",
            help="jsonrpc, http+json or grpc, the preferred one first; by default as the card "
            "orders them.",
            callback=bindings,
        ),
    ] = None
    a2a_version: Annotated[
        str,
        _option(
            "--a2a-version",
            help="The version of A2A; by default 1.x, or 0.3 if the agent has no newer one.",
            parser=version,
            metavar="VERSION",
        ),
    ] = ""
    timeout: Annotated[
        Duration, _option("--timeout", help="How long to wait.", parser=seconds, metavar="TIME")
    ] = 900.0
    poll_interval: Annotated[
        Duration,
        _option(
            "--poll-interval",
            help="How often to ask for a task that is not followed.",
            parser=seconds,
            metavar="TIME",
        ),
    ] = 2.0
    insecure: Annotated[
        bool, _option("--insecure", help="Do not verify TLS certificates. For development.")
    ] = False
    client_cert: Annotated[
        Path | None, _option("--client-cert", help="A PEM file: our certificate, for mutual TLS.")
    ] = None
    client_key: Annotated[
        Path | None, _option("--client-key", help="A PEM file: its key, if it is not in there.")
    ] = None
    debug: Annotated[
        bool, _option("--debug", help="Print what is sent and received to standard error.")
    ] = False
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            help="A file of A2ACLI_* lines, in place of the local .env.",
            is_eager=True,
            callback=load_variables,
        ),
    ] = None

    @property
    def is_json(self) -> bool:
        """Whether programs read the output."""
        return self.output == "json"

    @cached_property
    def tls(self) -> ssl.SSLContext | None:
        """How TLS is spoken, None for the usual way; what is unsafe is warned of.

        Raises:
            ConfigurationError: A file holds no certificate and key.
        """
        if not self.insecure and self.client_cert is None:
            return None
        import ssl  # noqa: PLC0415 - `--help` needs none

        context = ssl.create_default_context()
        if self.insecure:
            self._warn_of_strangers()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.client_cert is not None:
            try:
                context.load_cert_chain(self.client_cert, self.client_key)
            except (OSError, ssl.SSLError) as error:
                raise ConfigurationError(
                    f"{self.client_cert} holds no certificate and key"
                ) from error
        return context

    def _warn_of_strangers(self) -> None:
        from a2a_adapters_client.oauth.store import Store  # noqa: PLC0415 - likewise

        is_sent = self.bearer or self.api_key or self.svc_param or Store().read()
        secret = ", and credentials are sent to whoever answers" if is_sent else ""
        note(f"WARNING: --insecure: certificates are not verified{secret}")

    def take(self, words: list[str], most: int) -> list[str]:
        """Return the arguments that follow the agent's, which is noted if there is one.

        Args:
            words: What was typed.
            most: How many arguments there are besides the agent.

        Raises:
            ConfigurationError: There are too many, or no agent is named.
        """
        if not self.agent_card:
            if not words:
                raise ConfigurationError("name an agent: --agent-card, or the first argument")
            self.agent_card, *words = words
        if len(words) > most:
            raise ConfigurationError(f"there is an argument too many: {words[most]!r}")
        return words

    def request_metadata(self) -> dict[str, Any]:
        """Return what `--metadata` says.

        Raises:
            ConfigurationError: It is no JSON object.
        """
        try:
            said = json.loads(self.metadata or "{}")
        except (ValueError, RecursionError) as error:
            raise ConfigurationError("--metadata is not JSON") from error
        if not isinstance(said, dict):
            raise ConfigurationError("--metadata is a JSON object, as in '{\"k\": 1}'")
        return said

    def again(self, command: str, *options: str, argument: str = "") -> str:
        """Return another command on the same agent, quoted for a shell and without secrets."""
        words = ["a2a-adapters", *command.split()]
        last = ["-a", self.agent_card]
        if argument.startswith("-"):
            last += ["--", argument]
        elif argument:
            words.append(argument)
        return shlex.join([*words, *options, *last])


def client_settings() -> Iterator[tuple[str, str, str]]:
    """Yield the name, the value and the origin of what is set or has a default; no secrets."""
    files = read_variables()
    for each in fields(Access):
        if each.name in _NO_VARIABLES:
            continue
        name = PREFIX + each.name.upper()
        value, origin = "" if each.default is None else str(each.default), "default"
        if name in os.environ:
            value, origin = os.environ[name], "environment"
        elif name in files:
            value, origin = files[name][0], str(files[name][1])
        if value:
            yield name, "***" if name in SECRETS else value, origin
