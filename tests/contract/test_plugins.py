"""Discovery of plugins, their hooks, and errors of missing or broken frameworks."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from functools import partial
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pluggy
import pytest

from a2a_adapters import ConfigurationError, MissingExtraError, NoAdapterError, TargetError
from a2a_adapters.contract.plugins import BLOCK_VARIABLE
from a2a_adapters.dialects import DialectRoutes
from a2a_adapters.plugin import (
    Adapter,
    AgentDescription,
    Factory,
    Plugins,
    hookimpl,
    installed_plugins,
    lazy_names,
)
from a2a_adapters.testing import answer_of, connect, send, user_message
from tests.support.processes import UV, serving
from tests.support.warm import completed


class Target:
    pass


class TargetAdapter(Adapter):
    def __init__(self, name="adapter"):
        self.name = name

    def describe(self):
        return AgentDescription(name=self.name, description="A target.")

    async def stream(self, request):
        yield


def plugin(name, accepts=Target):
    @hookimpl
    def a2a_adapt(target):
        return TargetAdapter(name) if isinstance(target, accepts) else None

    return SimpleNamespace(a2a_adapt=a2a_adapt)


class Distribution(metadata.Distribution):
    def __init__(self, name):
        self._metadata = f"Name: {name}\nVersion: 1.2\n"

    def read_text(self, filename):
        return self._metadata if filename == "METADATA" else None

    def locate_file(self, path):
        raise NotImplementedError


class EntryPoint:
    def __init__(self, name, loaded, dist="third-party"):
        self.name = name
        self.value = f"module_{name}"
        self.dist = Distribution(dist)
        self._loaded = loaded

    def load(self):
        if isinstance(self._loaded, Exception):
            raise self._loaded
        return self._loaded


@pytest.fixture
def discover(monkeypatch):
    def run(*entry_points):
        monkeypatch.setattr(metadata, "entry_points", lambda group: list(entry_points))
        plugins = Plugins()
        plugins.discover()
        return plugins

    return run


def test_an_adapter_is_returned_unchanged():
    adapter = TargetAdapter()
    assert Plugins().adapt(adapter) is adapter


def test_third_parties_win_over_bundled_ones_wherever_they_stand(discover):
    plugins = discover(
        EntryPoint("a_third", plugin("third")),
        EntryPoint("z_bundled", plugin("bundled"), dist="a2a-adapters"),
    )
    assert plugins.adapt(Target()).name == "third"
    assert [status.name for status in plugins.statuses()] == ["z_bundled", "a_third"]


def make_target():
    return Target()


class Factories:
    """Makes a new target for every run."""

    @hookimpl
    def a2a_adapt(self, target):
        if isinstance(target, Factory) and isinstance(target.example, Target):
            return TargetAdapter(type(target()).__name__)
        return None


def test_a_factory_is_called_once_to_find_its_plugin():
    plugins, made = Plugins(), []
    plugins.register(plugin("one for all"))

    def make(count=1):
        made.append(count)
        return Target()

    assert plugins.adapt(make).name == "one for all"
    assert plugins.adapt(partial(make, 2)).name == "one for all"
    assert made == [1, 2]
    plugins.register(Factories())
    assert plugins.adapt(make_target).name == "Target"
    assert plugins.adapt(partial(TargetAdapter, "its own")).name == "its own"


def test_a_function_that_makes_nothing_of_use_is_named():
    plugins = Plugins()
    with pytest.raises(NoAdapterError, match=r"builtins.int, which make\(\) returned"):
        plugins.adapt(partial(make, 3))
    with pytest.raises(TargetError, match=r"make\(\) could not be called: TypeError"):
        plugins.adapt(partial(make, "no_number"))


def make(number):
    return number + 1


def takes_text(text=""):
    raise AssertionError(text)


def takes_a_request(request=None):
    raise AssertionError(request)


def needs_something(number):
    raise AssertionError(number)


def yields():
    yield


async def yields_later():
    yield


@pytest.mark.parametrize(
    "function", [takes_text, takes_a_request, needs_something, yields, yields_later, str.upper]
)
def test_functions_with_a_message_and_generators_are_not_factories(function):
    with pytest.raises(NoAdapterError, match=r"builtins\..*(function|method_descriptor); asked"):
        Plugins().adapt(function)


def test_a_broken_plugin_is_skipped_and_shown(discover, caplog):
    with caplog.at_level(logging.WARNING):
        plugins = discover(
            EntryPoint("broken", ImportError("no module named x")),
            EntryPoint("good", plugin("good")),
        )
    assert plugins.adapt(Target()).name == "good"
    broken, good = plugins.statuses()
    assert broken.problem == "ImportError: no module named x"
    assert (good.hooks, good.problem, good.version) == (("a2a_adapt",), "", "1.2")
    assert "broken" in caplog.text


def test_plugins_can_be_blocked(discover, monkeypatch):
    monkeypatch.setenv(BLOCK_VARIABLE, "other, blocked")
    plugins = discover(EntryPoint("blocked", plugin("blocked")))
    assert BLOCK_VARIABLE in plugins.statuses()[0].problem
    with pytest.raises(NoAdapterError, match="a2a-adapters plugins"):
        plugins.adapt(Target())


def test_a_name_is_given_once(discover):
    plugins = discover(
        EntryPoint("same", plugin("bundled"), dist="a2a-adapters"),
        EntryPoint("same", plugin("third")),
    )
    assert plugins.adapt(Target()).name == "bundled"
    assert plugins.statuses()[1].problem == "another plugin has this name"


def test_misspelt_hooks_are_reported(discover):
    @hookimpl
    def a2a_adopt(target):
        return None

    plugins = discover(EntryPoint("misspelt", SimpleNamespace(a2a_adopt=a2a_adopt)))
    assert plugins.statuses()[0].problem == "no such hook: a2a_adopt"


def test_no_adapter_names_the_type_and_the_plugins():
    plugins = Plugins()
    with pytest.raises(NoAdapterError, match="none, no plugin is loaded"):
        plugins.adapt(object())
    plugins.register(plugin("mine"), "mine")
    with pytest.raises(NoAdapterError, match=r"test_plugins\.Target.*asked: mine"):
        plugins.register(plugin("never", accepts=int), "never") or plugins.adapt(
            type("Target", (), {"__module__": "test_plugins"})()
        )


class Holder:
    def __init__(self, held):
        self.held, self.other = held, plugin


class Answering:
    def __call__(self, text):
        return text


@pytest.mark.parametrize(
    ("target", "nearest"),
    [
        (Holder(Target()), r"\. Nearest: its attribute held$"),
        ({"first": Target}, r"asked: mine \(a target\), others \(not installed\)$"),
        ({"first": "1", "second": Target()}, r"\. Nearest: its item 'second'$"),
        ([Target()], r"\. Nearest: its item 0$"),
        (Target, r"\. Nearest: an object of this class$"),
        (pluggy.HookspecMarker("any"), r"\. Nearest: a target \(mine\)$"),
        (Answering(), r"\. Nearest: its method __call__$"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_a_refusal_lists_accepted_targets_and_a_suggestion(target, nearest):
    plugins = Plugins()
    for name, accepted, framework in (("mine", "a target", "pluggy"), ("others", "1", "missing")):
        made = plugin(name, accepts=Target if name == "mine" else int)
        made.a2a_accepts = hookimpl(lambda accepted=accepted: accepted)
        made.a2a_frameworks = hookimpl(lambda framework=framework: [framework])
        plugins.register(made, name)
    with pytest.raises(NoAdapterError, match=nearest):
        plugins.adapt(target)


def test_the_bundled_plugins_name_their_targets():
    with pytest.raises(NoAdapterError) as refused:
        installed_plugins().adapt(object())
    for choice in ("functions (a function", "langchain (a runnable", "router (a router"):
        assert choice in str(refused.value)


def test_the_extra_is_named_when_it_is_known():
    kind = type("Chain", (), {"__module__": "langchain_core.runnables.base"})
    with pytest.raises(NoAdapterError, match=r"a2a-adapters\[langchain\]"):
        Plugins().adapt(kind())


def test_the_bundled_plugins_are_found_by_their_entry_points():
    statuses = {status.name: status for status in installed_plugins().statuses()}
    assert statuses["functions"].problem == ""
    assert statuses["langchain"].problem == ""
    assert statuses["omniroute"].problem == ""
    assert statuses["agno"].problem == ""
    assert statuses["grpc"].hooks == ("a2a_binding", "a2a_binding_transport")
    assert "a2a_adapt" in statuses["langchain"].hooks


def test_a_dialect_is_served_by_its_plugin():
    @hookimpl
    def a2a_routes(dialect, server):
        return DialectRoutes() if dialect == "morse" else None

    plugins = Plugins()
    plugins.register(SimpleNamespace(a2a_routes=a2a_routes), "morse")
    plugins.register(SimpleNamespace(), "without_dialects")
    assert plugins.routes("morse", server=None) == DialectRoutes()
    with pytest.raises(ConfigurationError, match=r"the dialect 'smoke'; asked: morse$"):
        plugins.routes("smoke", server=None)


@pytest.fixture
def needing(tmp_path, monkeypatch):
    """Return the `__getattr__` of a package with one module that imports a given one."""

    def make(import_line):
        package = tmp_path / "needing_package"
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "module.py").write_text(f"{import_line}\nname = 1\n")
        monkeypatch.syspath_prepend(tmp_path)
        for loaded in ("needing_package", "needing_package.module"):
            monkeypatch.delitem(sys.modules, loaded, raising=False)
        return lazy_names(
            "needing_package", {"name": "module"}, frameworks=("json", "no_such"), extra="some"
        )

    return make


def test_a_framework_that_is_not_installed_is_to_be_installed(needing):
    with pytest.raises(MissingExtraError, match="some"):
        needing("import no_such")("name")


def test_a_missing_module_of_an_installed_framework_is_named(needing):
    with pytest.raises(ModuleNotFoundError, match=r"json\.no_such") as raised:
        needing("import json.no_such")("name")
    assert not isinstance(raised.value, MissingExtraError)


ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Install the plugin beside a2a-adapters; return an environment that sees both."""
    folder = tmp_path_factory.mktemp("plugin")
    plugin = ROOT / "examples" / "echo_plugin"
    subprocess.run(
        [UV, "pip", "install", "--quiet", "--no-deps", "--target", folder, plugin], check=True
    )
    return {**os.environ, "PYTHONPATH": str(folder)}


def test_it_is_listed(environment):
    listed = completed("plugins", env=environment)
    rows = [line.split("\t") for line in listed.stdout.splitlines()]
    assert ["echo", "0.1.0", "a2a_adapters_echo", "a2a_adapt", "", "loaded"] in rows


async def test_it_serves(environment):
    with serving("a2a_adapters_echo:agent", environment) as url:
        async with connect(url) as client:
            task = await send(client, user_message("hello you"))
    assert answer_of(task) == "hello you hello you"
