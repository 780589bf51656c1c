"""The hooks a plugin may implement.

A plugin is a module (or object) with functions marked `@hookimpl`, published under the
entry-point group `a2a_adapters`. Hooks are synchronous and do no I/O, unless they say so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from pluggy import HookimplMarker, HookspecMarker

from a2a_adapters.contract.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import httpx
    import typer
    from a2a.client.transports.base import ClientTransport
    from a2a.server.request_handlers.request_handler import RequestHandler
    from a2a.types import AgentCard

    from a2a_adapters.contract.adapter import Adapter, AgentDescription
    from a2a_adapters.contract.bindings import Binding, RemoteInterface
    from a2a_adapters.contract.dialects import DialectRoutes, DialectServer
    from a2a_adapters.contract.limits import Limits

__all__ = ["lazy_names"]

PROJECT = "a2a_adapters"

hookspec = HookspecMarker(PROJECT)
hookimpl = HookimplMarker(PROJECT)


class AnyRemoteAgent(Protocol):
    """A `RemoteAgent`: hooks always get one, but the contract does not know how it calls."""

    name: str

    def describe_sync(self) -> AgentDescription:
        """Return what of the card a language model may see."""


@hookspec(firstresult=True)
def a2a_adapt(target: object) -> Adapter | None:
    """Wrap `target` so that it can be served, or return None to pass.

    Stops at the first result that is not None. A plugin must not import its framework here
    before it knows that the target belongs to it: an object of a framework can only exist
    when that framework is already in `sys.modules`.

    A function that needs no arguments comes as a `Factory`, which tells what it makes. Pass if
    one such object can serve all runs: its `example` comes next.

    Raises:
        TargetError: The target is of this framework, but cannot be served as it is.
    """


@hookspec
def a2a_accepts() -> str:
    """Return what `a2a_adapt` takes, such as "a crew or a flow", for the error about other objects.

    It is asked for only if a framework of the plugin is installed, see `a2a_frameworks`.
    """
    return ""


@hookspec(firstresult=True)
def a2a_remote_llm(agent: AnyRemoteAgent, framework: str) -> object | None:
    """Return `agent` as a language model of `framework`, or None to pass.

    Stops at the first result that is not None. Connects on first use, not here.

    Raises:
        MissingExtraError: The framework is this plugin's, but not installed.
    """


@hookspec(firstresult=True)
def a2a_remote_tool(agent: AnyRemoteAgent, framework: str) -> object | None:
    """Return `agent` as a tool of `framework`, or None to pass.

    Stops at the first result that is not None. May read the agent's card, for a tool's name
    and description are part of what a model is told.

    Raises:
        MissingExtraError: The framework is this plugin's, but not installed.
        RemoteAgentError: The card cannot be had.
    """


@hookspec(firstresult=True)
def a2a_transport(
    card: AgentCard, url: str, http: httpx.AsyncClient, address: str
) -> ClientTransport | None:
    """Return how a remote agent with that card is called over JSON-RPC, or None for A2A itself.

    Stops at the first result that is not None. Connects on first use, not here.

    Args:
        card: The agent's card. Whoever wrote it need not be trusted.
        url: The interface that was chosen from it.
        http: What calls go through; it adds credentials and keeps limits.
        address: What the user gave, the agent's address or its card's; "" if it was the card.

    Raises:
        RemoteAnswerError: The agent cannot be called as one of A2A. The text says how it can.
    """


@hookspec
def a2a_card_address(url: str) -> str | None:
    """Return where the card of a dialect's agent may be, on the same host, or None to pass.

    It is asked for where clients of A2A have found no card.

    Args:
        url: The agent's address, as the user gave it.
    """


@hookspec
def a2a_card_hint(url: str) -> str | None:
    """Say how an agent of a dialect is called that has no card, or None to pass.

    It is added to the error for an address without a card.

    Args:
        url: The address. Pass unless it looks like one of the dialect.
    """


@hookspec(firstresult=True)
def a2a_routes(dialect: object, server: DialectServer) -> DialectRoutes | None:
    """Return the routes of a dialect of A2A for what is served, or None to pass.

    Stops at the first result that is not None.

    Args:
        dialect: What the user named: the dialect's name, or an object of the plugin's own that
            says how it is to be spoken.
        server: What is served.
    """


@hookspec
def a2a_binding(runtime: RequestHandler, options: Any, rates: Any) -> Binding | None:
    """Return a server for one agent over an additional protocol binding, or None to pass.

    Listen in its `start`, not here.

    Args:
        runtime: Carries out the A2A operations of the agent.
        options: The server's `ServerOptions`, which say whether and where to listen.
        rates: Rate limits per caller (`a2a_adapters.security.shares.RequestRates`).

    Raises:
        MissingExtraError: The options request the binding, but its library is not installed.
    """


@hookspec(firstresult=True)
def a2a_binding_transport(interface: RemoteInterface) -> ClientTransport | None:
    """Return a transport for an additional protocol binding, or None to pass.

    Stops at the first result that is not None. Connects on first use, not here.

    Raises:
        MissingExtraError: The binding belongs to this plugin, but its library is not installed.
        RemoteAnswerError: The interface's address is invalid.
    """


@hookspec(firstresult=True)
def a2a_storage(url: str, limits: Limits, bus: str | None) -> object | None:
    """Return the `a2a_adapters.storage.Storage` at a URL, or None to pass.

    Stops at the first result that is not None. Connects when it is started, not here. The core
    itself has `memory:`.

    Args:
        url: What the user gave. It may hold a password: errors must not repeat it.
        limits: How long leases are, and how much is kept.
        bus: The URL of a message bus between processes with this storage, if the user gave one.

    Raises:
        ConfigurationError: The URL is this plugin's, but wrong, or it can have no bus.
        MissingExtraError: A driver is not installed.
    """


@hookspec(firstresult=True)
def a2a_target(word: str) -> object | None:
    """Return what a word of the command line stands for, or None to pass.

    It is asked for before `module:attribute` is imported. Stops at the first result that is
    not None.

    Args:
        word: A target as the user typed it, `mcp:npx some-server` for instance.

    Raises:
        ConfigurationError: The word is this plugin's, but makes no sense.
    """


CommandSource: TypeAlias = "Callable[..., None] | typer.Typer | str"
"""A command: a function or an app as `typer` takes them, or where one is, as `module:attribute`."""


@hookspec
def a2a_commands(
    load: Callable[[Sequence[str]], object],  # noqa: ARG001 - for those who implement it
) -> Mapping[str, CommandSource]:
    """Return commands of the command line by their names.

    A command is a function, an app with commands of its own, or `"module:attribute"` of one of
    them, which is imported when the command is run or listed. An app with a single command and no
    callback gives that command its options, such as `cls` and `hidden`.

    A plugin must not import its framework here: the user may want another command.

    Args:
        load: Makes targets of words, as the command `serve` does.
    """
    return {}


@hookspec
def a2a_settings() -> Sequence[tuple[str, str, str]]:
    """Return what a plugin's commands take from the environment, for `a2a-adapters config show`.

    Reads the files that its commands read.

    Returns:
        The name of each variable, its value without secrets, and its origin: a file,
        "environment" or "default".
    """
    return ()


@hookspec
def a2a_prepare_process() -> None:
    """Set up the process for a framework that has to be told something before it is imported.

    Called by the command line before it imports the target. A plugin must not import its
    framework here: most targets are not of it.
    """


@hookspec
def a2a_frameworks() -> Sequence[str]:
    """Return the distributions that a plugin is made for, as `pip` knows them.

    They need not be installed. `a2a-adapters plugins` tells which of them are.
    """
    return ()


def lazy_names(
    package: str, modules: Mapping[str, str], *, frameworks: Sequence[str] = (), extra: str = ""
) -> Callable[[str], Any]:
    """Return a package's `__getattr__` (PEP 562), which imports the module that has a name.

    Args:
        package: The package's name.
        modules: The module of each name, relative to the package.
        frameworks: What these modules need that may not be installed; the first by all of them.
        extra: The extra that installs it. The `__getattr__` raises `MissingExtraError` without.
    """

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            if frameworks:
                import_module(frameworks[0])
            return getattr(import_module(f"{package}.{modules[name]}"), name)
        except ModuleNotFoundError as error:
            if error.name in frameworks:  # not a module of one that is installed, but too old
                raise MissingExtraError(f"{name} of {package}", extra) from error
            raise

    return load
