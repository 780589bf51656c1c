"""The hooks that a plugin may implement.

A plugin is a module (or object) with functions marked `@hookimpl`, published under the entry-point
group `a2a_adapters`. Hooks are synchronous and do no I/O unless they say so. For those marked
`firstresult`, the first result that is not None is used: return None to pass.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from pluggy import HookimplMarker, HookspecMarker

from a2a_adapters.contract.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    import httpx
    import typer
    from a2a.client.transports.base import ClientTransport
    from a2a.server.request_handlers.request_handler import RequestHandler
    from a2a.types import AgentCard

    from a2a_adapters.contract.adapter import Adapter
    from a2a_adapters.contract.bindings import Binding, RemoteInterface
    from a2a_adapters.contract.card import AgentDescription
    from a2a_adapters.contract.dialect_routes import DialectRoutes, DialectServer
    from a2a_adapters.contract.limits import Limits
    from a2a_adapters.contract.parts import Part
    from a2a_adapters.contract.telemetry import Telemetry

PROJECT = "a2a_adapters"

hookspec = HookspecMarker(PROJECT)
hookimpl = HookimplMarker(PROJECT)


class AnyRemoteAgent(Protocol):
    """A `RemoteAgent`, as far as the contract knows it. Hooks always get a real one."""

    name: str

    def describe_sync(self) -> AgentDescription:
        """Return the part of the card that a language model may see."""


@hookspec(firstresult=True)
def a2a_adapt(target: object) -> Adapter | None:
    """Wrap `target` in an adapter, or return None to pass.

    Do not import the framework before the target is known to belong to it: look in `sys.modules`,
    where the framework of any existing object already is.

    A function without arguments arrives as a `Factory`. Pass if one such object can serve all runs:
    the hook is then called with the factory's `example`.

    Raises:
        TargetError: The target belongs to this framework, but cannot be served as it is.
    """


@hookspec
def a2a_accepts() -> str:
    """Name the targets of `a2a_adapt`, such as "a crew or a flow", for error messages.

    Called only if a framework of the plugin is installed, see `a2a_frameworks`.
    """
    return ""


@hookspec(firstresult=True)
def a2a_hint(target: object) -> str | None:
    """Return advice about an object that no plugin can serve, for the error message, or None."""


@hookspec(firstresult=True)
def a2a_remote_llm(agent: AnyRemoteAgent, framework: str) -> object | None:
    """Return `agent` as a language model of `framework`, or None to pass.

    The model connects on first use.

    Raises:
        MissingExtraError: The framework belongs to this plugin, but is not installed.
    """


@hookspec(firstresult=True)
def a2a_remote_tool(agent: AnyRemoteAgent, framework: str) -> object | None:
    """Return `agent` as a tool of `framework`, or None to pass.

    May fetch the agent's card, from which the tool's name and description come.

    Raises:
        MissingExtraError: The framework belongs to this plugin, but is not installed.
        RemoteAgentError: The card cannot be fetched.
    """


@hookspec(firstresult=True)
def a2a_transport(
    card: AgentCard, url: str, http: httpx.AsyncClient, address: str
) -> ClientTransport | None:
    """Return a transport for a remote agent that speaks a dialect, or None to pass.

    If every plugin passes, the agent is called over A2A's JSON-RPC. The transport connects on
    first use.

    Args:
        card: The agent's card; untrusted input.
        url: The interface chosen from the card.
        http: The client for all calls. It adds credentials and applies limits.
        address: The address of the agent or its card that the user gave; "" if they gave a card.

    Raises:
        RemoteAnswerError: The agent cannot be called over A2A. The text says how to call it.
    """


@hookspec(firstresult=True)
def a2a_upload(
    parts: Sequence[Part], card: AgentCard, http: httpx.AsyncClient
) -> Awaitable[Sequence[Part]] | None:
    """Upload files of a message, and return its parts with references, or None to pass."""


@hookspec
def a2a_card_address(url: str) -> str | None:
    """Return another address of the card on the same host, or None to pass.

    Called if there is no card at A2A's well-known address.

    Args:
        url: The agent's address, as the user gave it.
    """


@hookspec
def a2a_card_hint(url: str) -> str | None:
    """Return a hint for the error about an address without a card, or None to pass.

    Args:
        url: The address. Pass unless it looks like an agent of the plugin's dialect.
    """


@hookspec(firstresult=True)
def a2a_routes(dialect: object, server: DialectServer) -> DialectRoutes | None:
    """Return the routes of a dialect for the served agents, or None to pass.

    Args:
        dialect: The dialect that the user chose: its name, or an options object of the plugin.
        server: The served agents.
    """


@hookspec
def a2a_binding(runtime: RequestHandler, options: Any, rates: Any) -> Binding | None:
    """Return a server for one agent over an additional protocol binding, or None to pass.

    It starts listening in `Binding.start`.

    Args:
        runtime: Performs the A2A operations of the agent.
        options: The server's `ServerOptions`, which say whether and where to listen.
        rates: Rate limits per caller (`a2a_adapters.security.rates.RequestRates`).

    Raises:
        MissingExtraError: The options request the binding, but its library is not installed.
    """


@hookspec(firstresult=True)
def a2a_binding_transport(interface: RemoteInterface) -> ClientTransport | None:
    """Return a transport for an additional protocol binding, or None to pass.

    The transport connects on first use.

    Raises:
        MissingExtraError: The binding belongs to this plugin, but its library is not installed.
        RemoteAnswerError: The interface's address is invalid.
    """


@hookspec(firstresult=True)
def a2a_storage(url: str, limits: Limits, bus: str | None) -> object | None:
    """Return the `a2a_adapters.storage.Storage` for a URL, or None to pass.

    It connects when it is started. The core itself handles `memory:`.

    Args:
        url: The URL that the user gave. It may contain a password, so errors must not repeat it.
        limits: Lease times and retention.
        bus: The URL of a message bus between the processes that share this storage, if any.

    Raises:
        ConfigurationError: The URL is invalid, or this storage does not support a bus.
        MissingExtraError: The driver is not installed.
    """


@hookspec(firstresult=True)
def a2a_target(word: str) -> object | None:
    """Return the target that a command-line argument names, or None to pass.

    Called before the argument is imported as `module:attribute`.

    Args:
        word: The target as the user typed it, such as `mcp:npx some-server`.

    Raises:
        ConfigurationError: The argument belongs to this plugin, but is invalid.
    """


CommandSource: TypeAlias = "Callable[..., None] | typer.Typer | str"
"""A `typer` command or app, or its import path `module:attribute`."""


@hookspec
def a2a_commands(
    load: Callable[[Sequence[str]], object],  # noqa: ARG001 - for implementations
) -> Mapping[str, CommandSource]:
    """Return the plugin's commands by name.

    A command is a function, a `typer` app with commands of its own, or the import path of either,
    which is imported when the command is run or listed. An app with a single command and no
    callback passes its options, such as `cls` and `hidden`, to that command.

    Do not import the framework here: the user may have chosen another command.

    Args:
        load: Converts command-line arguments into targets, as `serve` does.
    """
    return {}


@hookspec
def a2a_settings() -> Sequence[tuple[str, str, str]]:
    """Return the environment settings of the plugin's commands for `a2a-adapters config show`.

    Reads the files that the commands read.

    Returns:
        For each variable its name, its value without secrets, and its origin: a file,
        "environment" or "default".
    """
    return ()


@hookspec(firstresult=True)
def a2a_telemetry() -> Telemetry | None:
    """Return the telemetry of this process, or None to pass. Called once."""


@hookspec
def a2a_prepare_process() -> None:
    """Set up the process for a framework that reads settings when it is imported.

    Called by the command line before it imports the target. Do not import the framework here.
    """


@hookspec
def a2a_frameworks() -> Sequence[str]:
    """Return the distributions, installed or not, that the plugin supports."""
    return ()


def lazy_names(
    package: str, modules: Mapping[str, str], *, frameworks: Sequence[str] = (), extra: str = ""
) -> Callable[[str], Any]:
    """Return a package's `__getattr__` (PEP 562) that imports names on first use.

    Args:
        package: The package's name.
        modules: Maps each name to its module, relative to the package.
        frameworks: The optional packages that these modules need; all of them need the first.
        extra: The extra to name in the `MissingExtraError` if one is not installed.
    """

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            if frameworks:
                import_module(frameworks[0])
            return getattr(import_module(f"{package}.{modules[name]}"), name)
        except ModuleNotFoundError as error:
            if error.name in frameworks:  # otherwise the framework lacks a module: it is too old
                raise MissingExtraError(f"{name} of {package}", extra) from error
            raise

    return load
