"""Terminal output of `serve`, its options, its choice of a port, and the page at its root."""

from __future__ import annotations

import inspect
import re
import signal
import socket
import subprocess
import sys

import httpx
import pytest
from a2a_adapters_server.serve import serve
from a2a_adapters_server.settings import ServerSettings

from a2a_adapters import ServerOptions, Skill, build_app
from a2a_adapters.plugin import Adapter, AgentDescription
from a2a_adapters.testing import running
from tests.support.terminal import on_terminal

pytestmark = pytest.mark.timeout(5 * 60)

AGENT = '''
def greet(text: str) -> str:
    """Greet the sender."""
    return f"Hello, {text}!"
'''

OF_THE_COMMAND = {"targets", "config", "push_private", "worker", "reload", "opens", "_verbose"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "agents.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def taken():
    """Return port 8000, occupied by this test or by another program."""
    with socket.socket() as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            own.bind(("127.0.0.1", 8000))
            own.listen()
        except OSError:
            pass
        yield 8000


def test_a_terminal_shows_how_to_call_the_agent(folder):
    opened = folder / "opened"
    browser = f"sh -c 'echo %s > {opened}'"
    with on_terminal("serve", "agents:greet", "--port", "0", "--open", BROWSER=browser) as terminal:
        root = terminal.said(r"agent +(http://\S+:\d+)/\n")[1]
        terminal.said(f"card +{root}/.well-known/agent-card.json\n")
        terminal.said(f"console +{root}/console\n")
        terminal.said("serves +agents:greet\n")
        terminal.said(f"\n  a2a-adapters chat {root}\n  a2a-adapters send {root} Hello\n")
        terminal.said("Ctrl-C stops it")
        at_root = httpx.get(root, headers={"Accept": "text/html"}, follow_redirects=True)
        for name in re.findall(r'(?:src|href)="([^":]+)"', at_root.text):
            assert httpx.get(f"{root}/console/{name}").is_success
        httpx.get(f"{root}/agents")
        terminal.said(r"GET '/agents'")
        terminal.process.send_signal(signal.SIGINT)
        shown = terminal.ended()
    assert terminal.exit_code == 0
    assert at_root.url.path == "/console/"
    assert "/console/" not in shown  # the log has no requests for its files
    assert opened.read_text().strip() == f"{root}/"


def test_callers_with_credentials_see_the_option(folder):
    variables = {"A2A_ADAPTERS_BEARER_TOKENS": "ann: secret"}
    with on_terminal("serve", "agents:greet", "--port", "0", **variables) as terminal:
        terminal.said(r"a2a-adapters chat http://\S+ --bearer TOKEN\n")


def test_the_next_port_is_taken_instead_of_one_in_use(folder, taken):
    with on_terminal("serve", "agents:greet") as terminal:
        port = terminal.said(r"port 8000 is taken, serving on (\d+)")[1]
        root = terminal.said(r"agent +(http://\S+:\d+)/\n")[1]
        assert root == f"http://127.0.0.1:{port}"


def test_a_restart_names_the_changed_file(folder):
    with on_terminal("serve", "agents:greet", "--port", "0", "--reload") as terminal:
        terminal.said("Ctrl-C stops it")
        (folder / "agents.py").write_text(AGENT.replace("Hello", "Goodbye"))
        terminal.said("restarting: agents.py changed\n")
        terminal.said(r"ready at http://\S+\n")
        terminal.process.send_signal(signal.SIGINT)
        terminal.ended()


HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


class Traveller(Adapter):
    def describe(self):
        skill = Skill(id="book", name="Book", description="Books <b>flights</b>.")
        return AgentDescription(name="Travel & more", description="Travels.", skills=[skill])

    async def stream(self, request):
        yield "."


@pytest.mark.parametrize("names", [[], ["here", "there"]])
async def test_browsers_get_the_agents_with_their_skills_and_cards(names):
    target = {name: Traveller() for name in names} if names else Traveller()
    async with running(build_app(target, dialects=["page"])) as url, httpx.AsyncClient() as http:
        page = await http.get(url, headers=HTML)
        cards = re.findall(r'href="([^"]+)"', page.text)
        found = [(await http.get(f"{url}/{card}")).json()["name"] for card in cards]
        assert [each["name"] for each in (await http.get(url)).json()["agents"]] == found
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert found == (names or ["Travel & more"])
    assert "<li><b>Book</b>: Books &lt;b&gt;flights&lt;/b&gt;.</li>" in page.text
    assert names or "<h1>Travel &amp; more</h1>" in page.text


async def test_browsers_are_redirected_to_the_console_if_there_is_one():
    app = build_app(Traveller(), options=ServerOptions(console=True), dialects=["page"])
    async with running(app) as url, httpx.AsyncClient(follow_redirects=True) as http:
        assert (await http.get(url, headers=HTML)).url.path == "/console/"


def test_each_option_is_a_setting():
    parameters = inspect.signature(serve).parameters.keys()
    assert parameters - ServerSettings.model_fields.keys() == OF_THE_COMMAND


@pytest.mark.parametrize("words", [["--help"], ["serve", "--help"]])
def test_help_imports_no_settings(words):
    code = f"""
import sys
sys.argv = ["a2a-adapters", *{words}]
try:
    import a2a_adapters.__main__
finally:
    print(*sys.modules, sep="\\n")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "a2a_adapters.cli" in loaded
    assert not {"a2a_adapters_server.settings", "a2a_adapters.serving.server"} & loaded
