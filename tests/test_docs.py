"""Every snippet of the README and the docs is run.

`python` blocks of a page run one after the other in one namespace; what they `serve` is
really served and asked something. A block with a title is a file that later commands use.
In `console` blocks, lines after `$ ` are run, and the lines below them must be printed.
"""

from __future__ import annotations

import asyncio
import re
import shlex
import subprocess
import sys
from contextlib import AsyncExitStack
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
from a2a.types import TaskState

import a2a_adapters.serving.server
from a2a_adapters import build_app
from a2a_adapters.testing import connect, running, send, user_message
from tests.support.openai_endpoint import endpoint
from tests.support.processes import started
from tests.support.warm import warm

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
pytestmark = pytest.mark.timeout(5 * 60)
RUNNABLE = [page for page in PAGES if "crewai" not in page.name or find_spec("crewai")]
FENCE = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<body>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)
# What the machine of a reader gets installed, the machine of a test has already.
INSTALLING = ("pip", "git", "cd", "make", "python benchmarks/")
# Pages that need no LangChain are also run where there is none.
WARNING = "langchain_core._api.LangChainDeprecationWarning"
TOLERATED = f"ignore::{WARNING}" if find_spec("langchain_core") else "error"
LANGUAGES = {"python", "console"}
ANSWERED = {TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_INPUT_REQUIRED}


class Page:
    """Runs the blocks of one page in a folder of its own."""

    def __init__(self, stack):
        module = sys.modules["docs"] = ModuleType("docs")  # dataclasses look their module up
        self.namespace = vars(module)
        self.served = []
        self.address = "http://127.0.0.1:8000"
        self._stack = stack

    def serve(self, target, *, host=None, port=None, allow_unauthenticated=False, **options):
        self.served.append(build_app(target, **options))

    async def run_python(self, body):
        code = compile(body.replace("http://127.0.0.1:8000", self.address), "docs", "exec")
        await asyncio.to_thread(exec, code, self.namespace)  # some run an event loop of their own
        for app in self.served:
            await ask(app)
        self.served.clear()

    def run_console(self, body):
        for written, expected in commands(body):
            if written.startswith(INSTALLING):
                continue
            command = written.replace("http://127.0.0.1:8000", self.address)
            words = shlex.split(command)
            if words[0] == "a2a-adapters":
                words = warm("-m", "a2a_adapters", *words[1:])
            if words[0] == "python":
                words = warm(*words[1:])
            if "serve" in command:
                agent = self._stack.enter_context(started([*words, "--port", "0"]))
                self.address = agent.partition("/agents/")[0]  # the server's, if it has several
                continue
            output = subprocess.run(words, capture_output=True, text=True, check=True).stdout
            for line in (line.replace("http://127.0.0.1:8000", self.address) for line in expected):
                assert line in output, f"`{command}` does not print {line!r} but:\n{output}"


def commands(body):
    """Yield every command with the lines it is said to print."""
    found = []
    for line in body.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found and line.strip() and "..." not in line:
            found[-1][1].append(line.strip())
    return found


def installs(path):
    """Return what the first command of a page installs, None if nothing is run there."""
    blocks = [block for block in FENCE.finditer(path.read_text()) if block["language"] in LANGUAGES]
    if not any(block["language"] == "python" for block in blocks):
        return None
    first = next(block["body"] for block in blocks if block["language"] == "console")
    assert first.startswith("$ pip install "), f"{path.name} does not begin with its installation"
    return tuple(shlex.split(first.splitlines()[0])[3:])


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_first_command_installs_all(path):
    commands = re.findall(r"^\$ (.*)$", path.read_text(), re.MULTILINE)
    if installs(path):
        assert not [command for command in commands[1:] if command.startswith("pip install")]


async def ask(app):
    async with running(app) as url, connect(url) as client:
        task = await send(client, user_message("hello"))
    assert task.status.state in ANSWERED, task


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the folder of a page, whose modules are forgotten with it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name == "docs" or (file and tmp_path in Path(file).parents):
            del sys.modules[name]


@pytest.mark.parametrize("path", RUNNABLE, ids=lambda path: path.name)
@pytest.mark.filterwarnings(TOLERATED)
async def test_snippets(path, folder, monkeypatch):
    if find_spec("opentelemetry"):
        monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", None)  # a page sets one
    async with AsyncExitStack() as stack:
        page = Page(stack)
        if "openai-agents" in path.name:
            api = await stack.enter_async_context(running(endpoint()))
            monkeypatch.setenv("OPENAI_BASE_URL", f"{api}/v1")
            monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setattr(a2a_adapters.serving.server, "serve", page.serve)
        monkeypatch.setattr(a2a_adapters.serving.server, "serve_runnable", page.serve)
        if "crewai" in path.name:  # the same function by another name, bound when it is imported
            monkeypatch.setattr("a2a_adapters_crewai.serving.adapt.serve_crew", page.serve)
        for block in FENCE.finditer(path.read_text()):
            if block["title"]:
                file = folder / block["title"]
                file.write_text(block["body"])
                monkeypatch.delitem(sys.modules, file.stem, raising=False)  # a library's
            elif block["language"] == "python":
                await page.run_python(block["body"])
            elif block["language"] == "console":
                page.run_console(block["body"])


def test_every_hook_and_public_name_is_documented():
    text = "\n".join(path.read_text() for path in PAGES)
    from a2a_adapters.contract import hooks

    hooks = [name for name in vars(hooks) if name.startswith("a2a_")]
    undocumented = [n for n in (*hooks, *a2a_adapters.__all__) if not re.search(rf"\b{n}\b", text)]
    assert undocumented == []


def test_links_lead_somewhere():
    for path in PAGES:
        for link in re.findall(r"\]\(([^)#\s]+)", path.read_text()):
            assert link.startswith("http") or (path.parent / link).exists(), f"{path.name}: {link}"


@pytest.mark.parametrize(("index", "folder"), [("README.md", "docs/"), ("docs/index.md", "")])
def test_every_page_is_listed_by_its_title_in_the_order_of_the_site(index, folder):
    nav = re.findall(r"^ +- (.+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    listed = re.findall(r"^- \[(.+)\]\((.+)\)$", (ROOT / index).read_text(), re.MULTILINE)
    assert {"README.md", *nav} == {page.name for page in PAGES}
    assert listed == [(title(page), folder + page) for page in nav if page != "index.md"]


def title(page):
    return (ROOT / "docs" / page).read_text().partition("\n")[0].removeprefix("# ")
