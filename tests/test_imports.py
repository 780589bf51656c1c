"""The layers of the core and the imports of plugins, those for types included."""

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

LAYERS: dict[str, set[str]] = {
    "concurrency": set(),
    "contract": {"concurrency"},
    "net": {"contract", "concurrency"},
    "protocol": {"contract"},
    "observability": {"contract", "protocol"},
    "security": {"contract", "concurrency", "net", "observability", "protocol"},
    "executor": {"contract", "concurrency", "observability", "protocol"},
    "storage": {"contract", "concurrency", "protocol"},
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
    "dialects": {
        "contract", "observability", "protocol", "security", "storage", "bindings", "calling",
    },
    "": {"contract", "net", "security", "runtime", "serving", "calling"},
    "plugin": {"contract", "concurrency", "executor", "storage", "calling"},
    "conversing": {"contract", "storage"},
    "testing": {"concurrency", "contract", "serving"},
    "cli": {"contract", "observability", "calling"},
    "__main__": {"cli"},
}  # fmt: skip
"""The packages of the core from the lowest to the highest, and what each imports.

"" is `a2a_adapters/__init__.py`. Imports of the tests themselves are not restricted.
"""

PUBLIC = {"", "concurrency", "conversing", "dialects", "plugin"}
"""Modules of the core that every plugin may import."""

BUILT_IN = {
    "bench": {"cli"},
    "check": {"calling", "cli", "contract", "net", "protocol"},
    "client": {"calling", "cli", "contract", "net", "observability", "protocol", "serving"},
    "console": {
        "calling", "cli", "contract", "net", "observability", "protocol", "security", "serving",
    },
    "contracts": {"contract", "serving", "testing"},
    # It serves a runtime and is a transport of `RemoteAgent`, like the core's own bindings.
    "grpc": {
        "bindings", "calling", "concurrency", "contract", "net", "observability", "protocol",
        "runtime", "security",
    },
    "jwt": {"net", "security"},
    "oauth": {"calling", "contract", "net", "protocol", "security"},
    "server": {
        "cli", "concurrency", "contract", "net", "observability", "protocol", "runtime", "security",
        "serving",
    },
    "sql": {
        "cli", "concurrency", "contract", "executor", "observability", "protocol", "runtime",
        "storage",
    },
    "tracing": {"concurrency", "contract", "observability", "protocol"},
    "v03": {"calling", "contract", "protocol"},
    "webhooks": {"calling", "protocol", "storage"},
}  # fmt: skip
"""Plugins that every installation has, and the packages of the core that they also import."""

BETWEEN_PLUGINS = {
    ("ag_ui", "endpoints"): "both post to one URL and read options in words of the command line",
    ("ag_ui", "openai"): "both follow the runs of tasks, and hand a history over as text",
    ("bench", "check"): "its command resolves the names of agents, too",
    ("check", "grpc"): "the check `binding.grpc` opens channels under the same outbound policy",
    ("client", "check"): "`card` shows the problems of a card; both resolve the names of agents",
    ("client", "server"): "`card get --origins` reads the settings of `serve`",
    ("client", "oauth"): "`auth login` finds the endpoints of cards, and requests tokens there",
    ("console", "check"): "the page checks agents, and its command resolves their names",
    ("server", "console"): "the settings `console_title` and its like are those of `Console`",
    ("server", "jwt"): "the setting `forwarded_user` verifies the users that a front signs",
    ("dbos", "functions"): "arguments and results of workflows are those of served functions",
    ("temporal", "functions"): "the same",
    ("omniroute", "langchain"): "its model class is a subclass",
    ("omniroute", "crewai"): "its model class is a subclass",
    ("omniroute", "autogen"): "its model class is a subclass",
}
"""The plugins that import another one, and why."""

SUBCLASSES = {"langchain", "crewai", "autogen"}
"""The modules of `omniroute` that may import the plugin of the same name, and nothing else."""


def modules(base: Path) -> dict[str, Path]:
    """Return the modules below a package's folder by their names in it; "" is the package."""
    found = {}
    for path in base.rglob("*.py"):
        name = ".".join(path.relative_to(base).with_suffix("").parts)
        found[name.removesuffix("__init__").removesuffix(".")] = path
    return found


@cache
def imported(path: Path) -> set[str]:
    """Return the modules and names that a file imports, if only for types."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def imports(path: Path, package: str, known: dict[str, Path]) -> set[str]:
    """Return the package's modules that a file imports, if only for types."""
    found = set()
    for name in imported(path):
        if name == package or name.startswith(f"{package}."):
            inner = name.removeprefix(package).removeprefix(".")
            found.add(inner if inner in known else inner.rpartition(".")[0])
    return found


def layer(module: str) -> str:
    return module.partition(".")[0]


CORE = modules(ROOT / "a2a_adapters")
PLUGINS = {path.parent.name: modules(path) for path in ROOT.glob("plugins/*/a2a_adapters_*")}
PLUGIN_FILES = sorted((plugin, name) for plugin, found in PLUGINS.items() for name in found)


@cache
def core_edges() -> dict[str, set[str]]:
    """Return what each of the core's modules imports."""
    return {name: imports(path, "a2a_adapters", CORE) for name, path in CORE.items()}


def test_a_layer_imports_only_the_layers_in_the_table():
    upward = [
        f"{CORE[name].relative_to(ROOT)} imports {CORE[target].relative_to(ROOT)}"
        for name, targets in core_edges().items()
        for target in targets
        if layer(target) not in LAYERS[layer(name)] | {layer(name)}
    ]
    assert not upward


FOREIGN = {
    *("sqlalchemy", "psycopg", "psycopg_pool", "aiosqlite", "alembic", "redis", "grpc"),
    *("langchain", "langchain_core", "langgraph", "crewai", "autogen_agentchat", "autogen_core"),
    *(f"a2a_adapters_{plugin}" for plugin in PLUGINS),
}

EXCEPTIONS = {
    # Its public names are loaded when they are asked for.
    "testing": {"a2a_adapters_contracts"},
    # a2a-sdk's client in tests needs a channel.
    "testing.local": {"grpc"},
}


def test_the_core_imports_no_plugin_no_database_no_framework_and_no_grpc():
    found = {
        name: {each.partition(".")[0] for each in imported(path)} & FOREIGN
        for name, path in CORE.items()
    }
    assert {name: names for name, names in found.items() if names} == EXCEPTIONS


def test_the_table_of_layers_has_no_upward_and_no_unused_dependency():
    used = {here: set() for here in LAYERS}
    for name, targets in core_edges().items():
        used[layer(name)] |= {layer(target) for target in targets} - {layer(name)}
    assert used == LAYERS
    names = list(LAYERS)
    assert not [here for i, here in enumerate(names) if LAYERS[here] - set(names[:i])]


def circles(edges: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_the_core_has_no_import_cycle():
    assert not circles({name: found - {name} for name, found in core_edges().items()})


@pytest.mark.parametrize("plugin", sorted(PLUGINS))
def test_a_plugin_has_no_import_cycle(plugin):
    package, known = f"a2a_adapters_{plugin}", PLUGINS[plugin]
    # Names that a package imports for type checkers are loaded on first use.
    edges = {name: imports(path, package, known) - {name} for name, path in known.items()}
    edges[""] = set()
    assert not circles(edges)


FILES = [*CORE.values(), *(path for plugin in PLUGINS.values() for path in plugin.values())]


def test_no_file_is_named_as_private():
    private = {path for path in FILES if path.stem.startswith("_")}
    assert {path.stem for path in private} == {"__init__", "__main__"}


GUIDE = (ROOT / "CONTRIBUTING.md").read_text()


def test_the_guide_has_a_place_for_every_package():
    table = GUIDE.partition("## Where code goes")[2].partition("`tests/test_imports.py`")[0]
    named = set(re.findall(r"`(\w+)/`", table))
    folders = {path.parent.name for path in (ROOT / "a2a_adapters").glob("*/__init__.py")}
    assert named - {"a2a_adapters"} == folders


@pytest.mark.parametrize(
    ("name", "path"), re.findall(r"\| `([\w.]+)` in `([\w/.]+\.py)` \|", GUIDE), ids="/".join
)
def test_the_guide_names_places_that_exist(name, path):
    before, _, after = path.rpartition("/.../")
    files = list((ROOT / before).rglob(after)) if before else [ROOT / "a2a_adapters" / path]
    text = "".join(file.read_text() for file in files)
    assert all(re.search(rf"(def|class) {each}\b", text) for each in name.split("."))


def test_calling_an_agent_imports_no_server_and_no_older_version():
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
    assert not {name for name in loaded if name.startswith("a2a_adapters_v03.transports")}
    ours = {layer(name.removeprefix("a2a_adapters.")) for name in loaded if "a2a_adapters." in name}
    assert not ours & {"serving", "bindings", "runtime", "executor", "security", "observability"}


def test_serving_a_function_imports_no_http_client_and_no_handlers_of_a2a_sdk():
    code = """
import sys
from a2a_adapters import serve_in_background
def shout(text: str) -> str:
    return text.upper()
with serve_in_background(shout):
    print(*sys.modules, sep="\\n")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "a2a_adapters.runtime.handler" in loaded
    slow = ("httpcore", "grpc", "a2a.client", "a2a.server.request_handlers", "a2a.server.routes")
    assert not [name for name in loaded if name.startswith(slow)]


def test_plugins_import_only_the_public_core():
    others = [
        f"{path.relative_to(ROOT)} imports {name}"
        for plugin, files in PLUGINS.items()
        for path in files.values()
        for name in imports(path, "a2a_adapters", CORE) - PUBLIC
        if layer(name) not in BUILT_IN.get(plugin, ())
    ]
    assert not others


def test_built_in_plugins_import_exactly_the_packages_in_the_table():
    for plugin, packages in BUILT_IN.items():
        inner = {t for f in PLUGINS[plugin].values() for t in imports(f, "a2a_adapters", CORE)}
        assert {layer(each) for each in inner - PUBLIC} == packages, plugin


def test_plugins_import_each_other_only_as_in_the_table():
    used = set()
    for plugin, name in PLUGIN_FILES:
        path = PLUGINS[plugin][name]
        for other in PLUGINS:
            if other != plugin and imports(path, f"a2a_adapters_{other}", {"": path}):
                used.add((plugin, other))
                assert name == other or other not in SUBCLASSES, f"{path} imports {other}"
    assert used == set(BETWEEN_PLUGINS)
