"""Discovers plugins and calls their hooks through typed methods."""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
import os
import re
from dataclasses import dataclass, replace
from importlib import metadata
from types import ModuleType
from typing import TYPE_CHECKING, cast

import pluggy

from a2a_adapters.contract import hooks as specs
from a2a_adapters.contract.adapter import Adapter
from a2a_adapters.contract.errors import ConfigurationError, NoAdapterError
from a2a_adapters.contract.factory import Factory, is_factory, look, name_of
from a2a_adapters.contract.telemetry import Telemetry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence

    import httpx
    from a2a.client.transports.base import ClientTransport
    from a2a.server.request_handlers.request_handler import RequestHandler
    from a2a.types import AgentCard

    from a2a_adapters.contract.bindings import Binding, RemoteInterface
    from a2a_adapters.contract.dialect_routes import DialectRoutes, DialectServer
    from a2a_adapters.contract.hooks import AnyRemoteAgent, CommandSource
    from a2a_adapters.contract.limits import Limits
    from a2a_adapters.contract.parts import Part

BLOCK_VARIABLE = "A2A_ADAPTERS_DISABLE_PLUGINS"
"""Environment variable with a comma-separated list of plugins to skip."""

_DISTRIBUTION = "a2a-adapters"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginStatus:
    """A plugin found by `Plugins.discover`; `problem` says why it was not loaded."""

    name: str
    value: str
    distribution: str
    version: str
    hooks: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    problem: str = ""


class _Manager(pluggy.PluginManager):
    """Looks for hooks among a module's functions only; pluggy examines every name, slowly."""

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        if isinstance(plugin, ModuleType) and not inspect.isfunction(vars(plugin).get(name)):
            return None
        return super().parse_hookimpl_opts(plugin, name)


class Plugins:
    """A set of plugins. Those registered later are asked first, so third parties win."""

    def __init__(self) -> None:
        self._manager = _Manager(specs.PROJECT)
        self._manager.add_hookspecs(specs)
        self._status: list[PluginStatus] = []

    def register(self, plugin: object, name: str | None = None) -> None:
        """Add a plugin: a module or object with functions marked `@hookimpl`.

        Raises:
            ValueError: The plugin or its name is already registered.
            pluggy.PluginValidationError: A hook has unknown arguments.
        """
        self._manager.register(plugin, name)

    def discover(self) -> None:
        """Register every installed plugin: bundled ones first, then by name.

        A plugin that cannot be loaded is logged and skipped, see `statuses`.
        """
        blocked = {name.strip() for name in os.environ.get(BLOCK_VARIABLE, "").split(",")}
        for entry_point in sorted(metadata.entry_points(group=specs.PROJECT), key=_order):
            status = self._load(entry_point, is_blocked=entry_point.name in blocked)
            self._status.append(status)

    def _load(self, entry_point: metadata.EntryPoint, *, is_blocked: bool) -> PluginStatus:
        name, (distribution, version) = entry_point.name, _distribution(entry_point.dist)
        status = PluginStatus(
            name=name, value=entry_point.value, distribution=distribution, version=version
        )
        if is_blocked:
            return replace(status, problem=f"disabled by {BLOCK_VARIABLE}")
        if self._manager.has_plugin(name):
            logger.warning("skipping plugin %s: the name is taken", entry_point)
            return replace(status, problem="another plugin has this name")
        try:
            self._manager.register(entry_point.load(), name)
        except Exception as error:  # a broken plugin must not affect the others
            logger.warning("skipping plugin %s: %s", name, error)
            logger.debug("traceback of plugin %s", name, exc_info=True)
            return replace(status, problem=f"{type(error).__name__}: {error}")
        hooks = self._manager.get_hookcallers(self._manager.get_plugin(name)) or ()
        return replace(
            status,
            hooks=tuple(sorted(hook.name for hook in hooks)),
            frameworks=tuple(self._frameworks(name)),
            problem=_misspelt(hooks),
        )

    def _frameworks(self, name: str) -> Sequence[str]:
        for implementation in self._manager.hook.a2a_frameworks.get_hookimpls():
            if implementation.plugin_name == name:
                return cast("Sequence[str]", implementation.function())
        return ()

    def prepare_process(self) -> None:
        """Let each plugin set up the process before a target is imported."""
        self._manager.hook.a2a_prepare_process()

    def packages(self) -> set[str]:
        """Return the top-level packages of the loaded plugins, which are also their loggers."""
        loaded = (status for status in self._status if not status.problem)
        return {re.split(r"[.:]", status.value)[0] for status in loaded}

    def statuses(self) -> list[PluginStatus]:
        """Return every plugin that `discover` found, loaded or not."""
        return list(self._status)

    def has(self, name: str) -> bool:
        """Return whether the named plugin is loaded."""
        return self._manager.has_plugin(name)

    def adapt(self, target: object) -> Adapter:
        """Return an adapter for `target`; an `Adapter` is returned unchanged.

        A function without arguments is called once to find a plugin for its result. The plugin
        either calls it again for every run, or serves that one result.

        Raises:
            NoAdapterError: No plugin supports the target's type.
            TargetError: A plugin supports the type, but cannot serve this object.
        """
        if is_factory(target):
            target = look(target)
        adapter = self._adapter(target)
        if adapter is None and isinstance(target, Factory):
            adapter = self._adapter(target.example)
        if adapter is None:
            raise NoAdapterError(self._no_adapter(target))
        return adapter

    def _adapter(self, target: object) -> Adapter | None:
        if isinstance(target, Adapter):
            return target
        return cast("Adapter | None", self._manager.hook.a2a_adapt(target=target))

    def remote_llm(self, agent: AnyRemoteAgent, framework: str) -> object:
        """Return a remote agent as a language model of a framework.

        Raises:
            NoAdapterError: No plugin supports language models of that framework.
        """
        model = self._manager.hook.a2a_remote_llm(agent=agent, framework=framework)
        return self._made(model, "language models", framework)

    def remote_tool(self, agent: AnyRemoteAgent, framework: str) -> object:
        """Return a remote agent as a tool of a framework.

        Raises:
            NoAdapterError: No plugin supports tools of that framework.
        """
        tool = self._manager.hook.a2a_remote_tool(agent=agent, framework=framework)
        return self._made(tool, "tools", framework)

    def routes(self, dialect: object, server: DialectServer) -> DialectRoutes:
        """Return the routes of a dialect.

        Raises:
            ConfigurationError: No loaded plugin has the dialect.
        """
        hook = self._manager.hook.a2a_routes
        routes = cast("DialectRoutes | None", hook(dialect=dialect, server=server))
        if routes is None:
            for status in self._status:
                if status.name == dialect and status.problem:
                    raise ConfigurationError(
                        f"the plugin for {dialect!r} is not loaded: {status.problem}"
                    )
            raise ConfigurationError(
                f"no plugin speaks the dialect {dialect!r}; asked: {_implementing(hook) or 'none'}"
            )
        return routes

    def bindings(self, runtime: RequestHandler, options: object, rates: object) -> list[Binding]:
        """Return the servers of an agent's additional protocol bindings (`a2a_binding`)."""
        hook = self._manager.hook.a2a_binding
        return cast("list[Binding]", hook(runtime=runtime, options=options, rates=rates))

    def binding_transport(self, interface: RemoteInterface) -> ClientTransport:
        """Return a transport for an interface of an additional protocol binding.

        Raises:
            ConfigurationError: No plugin supports the binding, or its library is not installed.
        """
        transport = self._manager.hook.a2a_binding_transport(interface=interface)
        if transport is None:
            raise ConfigurationError(f"no plugin calls agents over {interface.protocol!r}")
        return cast("ClientTransport", transport)

    def storage(self, url: str, limits: Limits, bus: str | None) -> object | None:
        """Return the storage for a URL, or None if no plugin supports it (`a2a_storage`)."""
        hook = self._manager.hook.a2a_storage
        return cast("object | None", hook(url=url, limits=limits, bus=bus))

    def target(self, word: str) -> object | None:
        """Return the target that a command-line argument names, or None (`a2a_target`)."""
        return cast("object | None", self._manager.hook.a2a_target(word=word))

    def commands(self, load: Callable[[Sequence[str]], object]) -> Mapping[str, CommandSource]:
        """Return the commands of all plugins by name."""
        commands: dict[str, CommandSource] = {}
        for added in self._manager.hook.a2a_commands(load=load):
            commands = added | commands
        return commands

    def settings(self) -> list[tuple[str, str, str]]:
        """Return the name, value and origin of the settings of all plugins' commands."""
        return [each for found in self._manager.hook.a2a_settings() for each in found]

    def card_addresses(self, url: str) -> list[str]:
        """Return the addresses at which agents of dialects may have their cards."""
        return cast("list[str]", self._manager.hook.a2a_card_address(url=url))

    def card_hints(self, url: str) -> list[str]:
        """Return hints for the error about an address without a card."""
        return cast("list[str]", self._manager.hook.a2a_card_hint(url=url))

    def transport(
        self, card: AgentCard, url: str, http: httpx.AsyncClient, address: str
    ) -> ClientTransport | None:
        """Return the transport of a dialect, or None to use A2A's own (`a2a_transport`)."""
        hook = self._manager.hook.a2a_transport
        return cast("ClientTransport | None", hook(card=card, url=url, http=http, address=address))

    @functools.cached_property
    def telemetry(self) -> Telemetry:
        """The telemetry of this process (`a2a_telemetry`)."""
        return cast("Telemetry | None", self._manager.hook.a2a_telemetry()) or Telemetry()

    def upload(
        self, parts: Sequence[Part], card: AgentCard, http: httpx.AsyncClient
    ) -> Awaitable[Sequence[Part]] | None:
        """Return the upload of a message's files, or None if no plugin does it (`a2a_upload`)."""
        uploading = self._manager.hook.a2a_upload(parts=parts, card=card, http=http)
        return cast("Awaitable[Sequence[Part]] | None", uploading)

    def _made(self, made: object | None, what: str, framework: str) -> object:
        if made is None:
            raise NoAdapterError(
                f"no plugin makes {what} of {framework!r}; asked: {self._names() or 'none'}"
            )
        return made

    def _names(self) -> str:
        return ", ".join(name for name, plugin in self._manager.list_name_plugin() if plugin)

    def _no_adapter(self, target: object) -> str:
        made, by = target, ""
        if isinstance(target, Factory):
            made, by = target.example, f", which {name_of(target.make)}() returned"
        kind = type(made)
        asked = [f"{name} ({kinds})" if kinds else name for name, kinds in self._serving()]
        text = (
            f"no plugin can serve an object of type {kind.__module__}.{kind.__qualname__}{by}; "
            f"asked: {', '.join(asked) or 'none, no plugin is loaded'}"
        )
        if suggestion := self._suggestion(made):
            text += f". Nearest: {suggestion}"
        for extra in _extras():
            if kind.__module__.startswith(extra):
                text += f". Its extra: pip install -U 'a2a-adapters[{extra}]'"
        if any(status.problem for status in self._status):
            text += ". Some plugins are not loaded, see: a2a-adapters plugins"
        hint = cast("str | None", self._manager.hook.a2a_hint(target=made))
        return f"{text}. {hint}" if hint else text

    def _serving(self) -> Iterator[tuple[str, str]]:
        """Yield the plugins that serve targets, and the kinds of their targets."""
        hook = self._manager.hook
        kinds = {each.plugin_name: each.function for each in hook.a2a_accepts.get_hookimpls()}
        for name in sorted(each.plugin_name for each in hook.a2a_adapt.get_hookimpls()):
            frameworks = self._frameworks(name)
            if frameworks and not any(map(_is_installed, frameworks)):
                yield name, "not installed"
            else:
                yield name, cast("str", kinds[name]()) if name in kinds else ""

    def _suggestion(self, target: object) -> str:
        """Suggest a target related to an object that cannot be served, or return ""."""
        if isinstance(target, type):
            return "an object of this class"
        for name, value in _members(target):
            if inspect.isroutine(value) or isinstance(value, type | functools.partial):
                continue  # a plugin might call it
            with contextlib.suppress(Exception):  # a member may confuse a plugin
                if self._adapter(value) is not None:
                    return f"its {name}"
        roots = {_framework_of(kind.__module__) for kind in type(target).__mro__}
        for name, kinds in self._serving():
            if roots & set(map(_framework_of, self._frameworks(name))):
                return f"{kinds} ({name})" if kinds else f"a target of {name}"
        return "its method __call__" if callable(target) else ""


def _implementing(hook: pluggy.HookCaller) -> str:
    return ", ".join(sorted(each.plugin_name for each in hook.get_hookimpls()))


def _members(target: object) -> Iterable[tuple[str, object]]:
    """Return the items of a collection, or the public attributes of an object."""
    if isinstance(target, dict):
        return [(f"item {key!r}", value) for key, value in target.items()]
    if isinstance(target, list | tuple):
        return [(f"item {number}", value) for number, value in enumerate(target)]
    attributes = getattr(target, "__dict__", {})
    public = [name for name in attributes if not name.startswith("_")]
    return [(f"attribute {name}", attributes[name]) for name in public]


def _framework_of(name: str) -> str:
    """Return the first word of a module or distribution name, which a framework's parts share."""
    return _distribution_of(name.partition(".")[0]).partition("-")[0]


def _distribution_of(module: str) -> str:
    name = module.replace("_", "-")
    # pydantic is a library of many frameworks, and no part of pydantic-ai.
    known = {"agents": "openai-agents", "pydantic-ai": "pydantic-ai-slim", "pydantic": ""}
    return known.get(name, name)


def _is_installed(distribution: str) -> bool:
    try:
        metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return False
    return True


def _misspelt(hooks: Iterable[pluggy.HookCaller]) -> str:
    """Return the problem of functions marked `@hookimpl` that match no hook, or ""."""
    unknown = sorted(hook.name for hook in hooks if not hook.has_spec())
    return f"no such hook: {', '.join(unknown)}" if unknown else ""


def _about(header: str) -> list[str]:
    """Return the values of a header in this distribution's metadata."""
    try:
        return metadata.metadata(_DISTRIBUTION).get_all(header) or []
    except metadata.PackageNotFoundError:  # a source tree that was never installed
        return []


def _extras() -> set[str]:
    return {*_about("Provides-Extra")} - {"all", "examples"}


def extra_of(module: str) -> str:
    """Return the extra that installs a top-level module, or ""."""
    root = _distribution_of(module)
    for requirement in _about("Requires-Dist"):
        name = re.match(r"[\w.-]+", requirement)
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", requirement)
        if name and name[0].replace("_", "-") == root and extra and extra[1] in _extras():
            return extra[1]
    return ""


def _order(entry_point: metadata.EntryPoint) -> tuple[bool, str]:
    """Return a sort key: bundled plugins first, then by name."""
    return _distribution(entry_point.dist)[0] != _DISTRIBUTION, entry_point.name


@functools.cache  # each access to the metadata parses the whole file
def _distribution(dist: metadata.Distribution | None) -> tuple[str, str]:
    """Return the name and version of a distribution, or two empty strings."""
    known = dist.metadata if dist else None
    return (known["Name"], known["Version"]) if known else ("", "")


@functools.cache
def installed_plugins() -> Plugins:
    """Return the plugins of this environment, discovered once per process."""
    plugins = Plugins()
    plugins.discover()
    return plugins
