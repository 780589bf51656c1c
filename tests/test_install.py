"""The wheel and the source distribution, in environments of their own."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from tests.smoke import greet
from tests.support.processes import UV
from tests.test_docs import RUNNABLE, installs

ROOT = Path(__file__).parents[1]

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300)]

CORE = """
import importlib, importlib.util, pkgutil
import a2a_adapters
import a2a_adapters_jwt
from a2a_adapters.plugin import installed_plugins
assert not importlib.util.find_spec("langchain_core")
for module in pkgutil.walk_packages(a2a_adapters.__path__, "a2a_adapters."):
    if module.name.endswith("__main__"):
        continue
    importlib.import_module(module.name)
EXTRAS = {
    "grpc": {"grpc_port": 0}, "metrics": {"metrics": True}, "sqlite": {"storage": "sqlite:///agents.db"}
}
for extra, option in EXTRAS.items():
    try:
        options = a2a_adapters.ServerOptions(**option)
        a2a_adapters.build_app(lambda text: text, options=options)
    except a2a_adapters.MissingExtraError as error:
        assert f"a2a-adapters[{extra}]" in str(error)
    else:
        raise AssertionError(f"no error names the missing extra {extra}")
try:
    a2a_adapters_jwt.JwtTokens("https://x.example/keys", issuer="x", audience="y")
except a2a_adapters.MissingExtraError as error:
    assert "a2a-adapters[jwt]" in str(error)
else:
    raise AssertionError("no error names the missing extra jwt")
assert installed_plugins().adapt(lambda text: text)
assert not [s for s in installed_plugins().statuses() if s.problem]
import a2a_adapters_langchain
try:
    a2a_adapters_langchain.RunnableAdapter
except a2a_adapters.MissingExtraError as error:
    assert "a2a-adapters[langchain]" in str(error)
else:
    raise AssertionError("LangChain is missing, but no error says so")
"""

LANGCHAIN = """
from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, MessagesState, StateGraph
from a2a_adapters import build_app
graph = StateGraph(MessagesState)
graph.add_node("node", lambda state: state)
graph.add_edge(START, "node")
assert build_app(RunnableLambda(lambda text: text))
assert build_app(graph.compile())
"""

AUTOGEN = """
import asyncio
from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat
from a2a_adapters import build_app
from a2a_adapters.testing import answer_of, connect, running, send, user_message

class Agent(BaseChatAgent):
    produced_message_types = (TextMessage,)
    async def on_messages(self, messages, cancellation_token):
        return Response(chat_message=TextMessage(content="hello", source=self.name))
    async def on_reset(self, cancellation_token): ...

async def main():
    app = build_app(lambda: RoundRobinGroupChat([Agent("agent", "Says hello.")], max_turns=1))
    async with running(app) as url, connect(url) as client:
        assert answer_of(await send(client, user_message("hi"))) == "hello"

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """Build the source distribution, and the wheel from it; return their folder."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([UV, "build", "--quiet", "--out-dir", folder, ROOT], check=True)
    return folder


@pytest.fixture(scope="module")
def wheel(dist):
    [wheel] = dist.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return tmp_path_factory.mktemp("installed")


@pytest.fixture
def place(folders, monkeypatch):
    """Return the folder of environments: always the same, so that compiled modules are reused."""
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(folders / "compiled"))
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    return folders / "environment"


@pytest.mark.parametrize(
    ("extra", "check"), [("", CORE), ("[langchain]", LANGCHAIN), ("[autogen]", AUTOGEN)]
)
def test_the_wheel_works_alone(wheel, extra, check, place, tmp_path):
    check_alone(wheel, extra, check, place, tmp_path)


def test_the_installed_command_serves_and_sends(wheel, place, tmp_path):
    python = environment(place, wheel, ["a2a-adapters"])
    greet(python.with_name("a2a-adapters"), tmp_path)


def test_the_description_for_a_package_index_links_to_no_files(wheel):
    with zipfile.ZipFile(wheel) as archive:
        [name] = [each for each in archive.namelist() if each.endswith("/METADATA")]
        description = archive.read(name).decode().partition("\n\n")[2]
    assert "## Why a2a-adapters" in description
    assert "server, credentials and a storage.\n" in description
    for bare in ("benchmarks)", "(security)", "## Documentation", "Changelog"):
        assert bare not in description
    links = re.findall(r"\]\(([^)]+)\)", description)
    assert links
    assert all(link.startswith("https://") for link in links)


def test_the_metadata_names_authors_and_every_licence(wheel):
    vendored = tomllib.loads((ROOT / "tests/plugins/console/vendored.toml").read_text())
    with zipfile.ZipFile(wheel) as archive:
        [name] = [each for each in archive.namelist() if each.endswith("/METADATA")]
        about = message_from_bytes(archive.read(name))
        texts = [each for each in archive.namelist() if ".dist-info/licenses/" in each]
    licences = {"Apache-2.0", *(each["licence"] for each in vendored.values())}
    assert set(about["License-Expression"].split(" AND ")) == licences
    assert {Path(each).name for each in texts} == {"LICENSE", "LICENSES.txt"}
    assert about["Author"]


def test_the_source_distribution_has_every_file_of_the_repository(dist):
    [archive] = dist.glob("*.tar.gz")
    with tarfile.open(archive) as source:
        packed = {name.partition("/")[2] for name in source.getnames()}
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.splitlines()
    assert set(listed) - packed <= {".ci/run"}


def check_alone(wheel, extra, check, place, folder):
    """Run a check in an environment with only the wheel and an extra."""
    python = environment(place, wheel, [f"a2a-adapters{extra}"])
    subprocess.run([python, "-c", check], check=True, cwd=folder)


def environment(folder, wheel, requirements):
    """Create an environment from requirements and the wheel; return its Python."""
    python = folder / "bin" / "python"
    new = [UV, "venv", "--quiet", "--clear", "--python", sys.executable, folder]
    subprocess.run(new, check=True)
    ours = [each for each in requirements if each.startswith("a2a-adapters")]
    others = [each for each in requirements if each not in ours]
    install = [UV, "pip", "install", "--quiet", "--python", python, "-c", ROOT / "constraints.txt"]
    ours = [f"{each} @ {wheel.as_uri()}" for each in ours]
    subprocess.run([*install, *ours, *others], check=True)
    return python


def pages_by_requirements():
    pages = {}
    for page in RUNNABLE:
        if requirements := installs(page):
            pages.setdefault(requirements, []).append(page.name)
    return pages


@pytest.mark.timeout(15 * 60)
@pytest.mark.parametrize(
    ("requirements", "pages"),
    pages_by_requirements().items(),
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_pages_run_with_what_their_first_command_installs(wheel, requirements, pages, place):
    runners = ["pytest", "pytest-asyncio", "pytest-timeout"]
    python = environment(place, wheel, [*requirements, *runners])
    command = [python, "-m", "pytest", "-q", "--noconftest", "-p", "no:cacheprovider"]
    tests = [f"{ROOT / 'tests' / 'test_docs.py'}::test_snippets[{page}]" for page in pages]
    subprocess.run([*command, "--rootdir", ROOT, *tests], check=True, cwd=ROOT)
