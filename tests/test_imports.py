"""Who may import whom: the plan of the house, type-only imports included."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

MAY_IMPORT = {
    "contract": set(),
    "concurrency": set(),
    "net": {"contract", "concurrency"},
    "protocol": {"contract", "net"},
    "observability": {"contract", "net", "protocol"},
    "security": {"contract", "concurrency", "net", "observability", "protocol"},
    "executor": {"contract", "concurrency", "net", "observability", "protocol"},
    "storage": {"contract", "concurrency", "observability", "protocol"},
    "runtime": {
        "contract", "concurrency", "net", "observability", "protocol", "executor", "storage",
    },
    "bindings": {
        "contract", "concurrency", "net", "observability", "protocol", "security", "runtime",
    },
    "serving": {
        "contract", "concurrency", "net", "observability", "protocol", "security",
        "executor", "storage", "runtime", "bindings",
    },
    "calling": {"contract", "concurrency", "net", "protocol"},
}  # fmt: skip
"""Each room and those below it; `serving` and `calling` are the two wings."""

DOORS = {"", "__main__", "cli", "dialects", "testing"}
"""They may use both wings, and nobody imports them."""

ALLOWED = {
    ("contract.adapter", "net.policy"): "an adapter says from where files are fetched",
    ("contract.errors", "calling.reply"): "a failed task's error holds what the agent answered",
    ("contract.hooks", "calling"): "a hook gets the remote agent",
    ("contract.plugins", "calling"): "a hook gets the remote agent",
    ("contract.hooks", "serving.dialects"): "a hook returns routes",
    ("contract.plugins", "serving.dialects"): "a hook returns routes",
}
"""Type-only imports that go up, and why."""


def modules(base: Path) -> dict[str, Path]:
    """Return the modules below a package's folder by their names in it; "" is the package."""
    found = {}
    for path in base.rglob("*.py"):
        name = ".".join(path.relative_to(base).with_suffix("").parts)
        found[name.removesuffix("__init__").removesuffix(".")] = path
    return found


def imports(path: Path, package: str, known: dict[str, Path]) -> dict[str, bool]:
    """Return the package's modules that a file imports; whether for more than types."""
    tree = ast.parse(path.read_text())
    for_types = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.unparse(branch.test)
        for node in ast.walk(branch)
    }
    found: dict[str, bool] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name != package and not name.startswith(f"{package}."):
                continue
            inner = name.removeprefix(package).removeprefix(".")
            target = inner if inner in known else inner.rpartition(".")[0]
            found[target] = found.get(target, False) or id(node) not in for_types
    return found


def room(module: str) -> str:
    return module.partition(".")[0]


CORE = modules(ROOT / "a2a_adapters")
PLUGINS = {path.name: modules(path) for path in sorted((ROOT / "plugins").glob("*/a2a_adapters_*"))}


@cache
def core_edges() -> dict[str, dict[str, bool]]:
    """Return what each of the core's modules imports; whether for more than types."""
    return {name: imports(path, "a2a_adapters", CORE) for name, path in CORE.items()}


@pytest.mark.parametrize("name", sorted(CORE), ids=lambda name: name or "__init__")
def test_a_room_imports_only_those_below_it(name):
    here = room(name)
    if here in DOORS:
        return
    for target, at_run_time in core_edges()[name].items():
        there = room(target)
        if here == there or there in MAY_IMPORT[here]:
            continue
        assert (name, target) in ALLOWED, (
            f"{CORE[name].relative_to(ROOT)} imports {CORE[target].relative_to(ROOT)}, but "
            f"{here} may import only {', '.join(sorted(MAY_IMPORT[here])) or 'nothing'}"
        )
        assert not at_run_time, f"{name} may import {target} for its types only"


def test_every_exception_is_needed():
    assert not [edge for edge in ALLOWED if edge[1] not in core_edges()[edge[0]]]
    assert {room(name) for name in CORE} - DOORS <= set(MAY_IMPORT)


def circles(edges: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_the_core_has_no_circle():
    edges = {
        name: {t for t in found if t != name and (name, t) not in ALLOWED}
        for name, found in core_edges().items()
    }
    assert not circles(edges)


@pytest.mark.parametrize("package", sorted(PLUGINS))
def test_a_plugin_has_no_circle(package):
    known = PLUGINS[package]
    # What a package's own file names for type checkers is loaded when it is asked for.
    edges = {name: set(imports(path, package, known)) - {name} for name, path in known.items()}
    edges[""] = set()
    assert not circles(edges)


FILES = [*CORE.values(), *(path for plugin in PLUGINS.values() for path in plugin.values())]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_is_named_as_private(path):
    assert path.stem in {"__init__", "__main__"} or not path.stem.startswith("_")


GUIDE = (ROOT / "CONTRIBUTING.md").read_text()


def test_the_guide_has_a_place_for_every_room():
    table = GUIDE.partition("## Where does my line go?")[2].partition("`tests/test_imports.py`")[0]
    named = set(re.findall(r"`(\w+)/`", table))
    folders = {path.parent.name for path in (ROOT / "a2a_adapters").glob("*/__init__.py")}
    assert named - {"a2a_adapters"} == folders


@pytest.mark.parametrize(
    ("path", "name"), re.findall(r"\| `([\w/.]+\.py)`, `([\w.]+)` \|", GUIDE), ids="/".join
)
def test_the_guide_tells_where_things_are(path, name):
    before, _, after = path.rpartition("/.../")
    files = list((ROOT / before).rglob(after)) if before else [ROOT / "a2a_adapters" / path]
    text = "".join(file.read_text() for file in files)
    assert all(re.search(rf"(def|class) {each}\b", text) for each in name.split("."))


def test_to_call_an_agent_loads_no_server_and_no_older_version():
    code = """
import sys
from a2a_adapters import RemoteAgent, RemoteConnectionError
try:
    RemoteAgent("http://127.0.0.1:9").send_sync("hello")
except RemoteConnectionError:
    print(*sys.modules, sep="\\n")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "a2a_adapters.calling.agent" in loaded
    assert not [name for name in loaded if name.startswith(("a2a.server", "uvicorn"))]
    assert not {name for name in loaded if name.startswith("a2a_adapters.calling.v03")}
    ours = {room(name.removeprefix("a2a_adapters.")) for name in loaded if "a2a_adapters." in name}
    assert not ours & {"serving", "bindings", "runtime", "executor", "security", "observability"}


PARTS = {
    "check": {"client"},
    "client": {"check"},
    "console": {"check", "client"},
    "sql": {"client"},
}
"""Plugins that every installation has, and which of the others they use."""

SUBCLASSED = {
    ("a2a_adapters_omniroute", name): f"a2a_adapters_{name}"
    for name in ("langchain", "crewai", "autogen")
}
"""A dialect's thin model classes may import the plugin whose classes they are made of."""

PLUGIN_FILES = [(package, name) for package, found in PLUGINS.items() for name in found]


@pytest.mark.parametrize(("package", "name"), PLUGIN_FILES, ids="/".join)
def test_no_plugin_knows_another(package, name):
    path = PLUGINS[package][name]
    others = {other for other in PLUGINS if other != package and imports(path, other, {"": path})}
    allowed = {SUBCLASSED[package, name]} if (package, name) in SUBCLASSED else set()
    allowed |= {f"a2a_adapters_{other}" for other in PARTS.get(package[13:], ())}
    assert others <= allowed, f"{path.relative_to(ROOT)} imports {', '.join(others - allowed)}"
