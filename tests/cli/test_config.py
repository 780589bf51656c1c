"""Settings of a server in a file, the environment and the command line."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tomllib
from dataclasses import fields

import httpx
import pytest

from a2a_adapters import Limits, NamedTarget, PushOptions, ServerOptions, build_app
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.support.command_line import finished
from tests.support.processes import PATIENCE, started
from tests.support.warm import warm

pytestmark = pytest.mark.timeout(5 * 60)

ADDRESS = re.compile(r"A2A agent at (http://\S+)/,")
APP = '''
def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments, **environment):
    return finished(*arguments, variables=environment)


def shown(*arguments, **environment):
    """Return the output of `config show`, parsed and as lines."""
    done = run("config", "show", *arguments, **environment)
    assert done.returncode == 0, done.stderr
    return tomllib.loads(done.stdout), dict(
        map(str.strip, line.split("  # ")) for line in done.stdout.splitlines() if "  # " in line
    )


def cards(url, *names):
    return [httpx.get(f"{url}/agents/{name}/.well-known/agent-card.json").json() for name in names]


def test_the_port_of_a_platform_counts_least(folder):
    _, origins = shown(PORT="8080", A2A_ADAPTERS_LIMITS_KEEP_ALIVE_SECONDS="620")
    assert origins["port = 8080"] == "PORT"
    assert origins["keep_alive_seconds = 620.0"] == "A2A_ADAPTERS_LIMITS_KEEP_ALIVE_SECONDS"
    _, origins = shown(PORT="8080", A2A_ADAPTERS_PORT="1")
    assert origins["port = 1"] == "A2A_ADAPTERS_PORT"
    (folder / "a2a-adapters.toml").write_text("port = 2")
    _, origins = shown(PORT="8080")
    assert origins["port = 2"] == "a2a-adapters.toml"
    (folder / "a2a-adapters.toml").unlink()
    # Kubernetes sets this for a Service named a2a-adapters.
    _, origins = shown(PORT="8080", A2A_ADAPTERS_PORT="tcp://10.0.0.1:80")
    assert origins["port = 8080"] == "PORT"
    done = run("config", "show", PORT="http")
    assert "PORT: port: Input should be a valid integer" in done.stderr


def test_nearer_settings_take_precedence(folder):
    (folder / "a2a-adapters.toml").write_text("port = 1\nhost = '::1'\n[limits]\nruns = 2\n")
    settings, origins = shown(A2A_ADAPTERS_PORT="3", A2A_ADAPTERS_LIMITS_THREADS="4")
    assert (settings["host"], settings["port"]) == ("::1", 3)
    assert (settings["limits"]["runs"], settings["limits"]["threads"]) == (2, 4)
    assert origins["port = 3"] == "A2A_ADAPTERS_PORT"
    assert origins["runs = 2"] == "a2a-adapters.toml"
    assert origins["threads = 4"] == "A2A_ADAPTERS_LIMITS_THREADS"
    assert origins["parts = 100"] == "default"


def test_a_file_of_windows_is_read_as_any_other(folder):
    (folder / "a2a-adapters.toml").write_bytes("\ufeffport = 1\r\n".encode())
    assert shown()[0]["port"] == 1


def test_config_show_prints_an_equivalent_file(folder):
    (folder / "one.toml").write_text(
        "push = true\ncors_origins = ['https://a.example']\n[agents]\nloud = 'app:shout'\n"
        "[agents.poet]\ntarget = 'app:shout'\ndescription = 'Says \"hi\" é'\n"
        "[agents.poet.card]\nversion = '2.1.0'\n"
        "skills = [{id = 'ode', name = 'Ode', description = 'Praises.', tags = ['verse']}]\n"
        "provider = {organization = 'Poets', url = 'https://poets.example'}\n"
    )
    before, _ = shown("--config", "one.toml")
    (folder / "two.toml").write_text(run("config", "show", "--config", "one.toml").stdout)
    assert shown("--config", "two.toml")[0] == before
    assert before["agents"]["poet"]["card"]["skills"][0]["tags"] == ["verse"]


def test_every_option_of_a_server_has_a_key(folder):
    (folder / "a2a-adapters.toml").write_text("push = true")
    settings, _ = shown(
        A2A_ADAPTERS_GRPC_PORT="0",
        A2A_ADAPTERS_GRPC_URL="x:1",
        A2A_ADAPTERS_CARD_KEY="key.pem",
        A2A_ADAPTERS_BUS="redis://ann:hunter2@host",
        A2A_ADAPTERS_PREVIEW="1.1",
    )
    assert settings["bus"] == "redis://ann:***@host"
    by_code_only = {"extended_description", "files", "task_store", "redact"}
    otherwise = {
        "authentication": "bearer_token_file",
        "grpc_host": "host",
        "card_signer": "card_key",
    }
    shown_only_when_set = {"bearer_token_file", "console"}
    names = {otherwise.get(each.name, each.name) for each in fields(ServerOptions)} - by_code_only
    assert names - shown_only_when_set <= settings.keys()
    assert {each.name for each in fields(Limits)} == settings["limits"].keys()
    of_push = {each.name for each in fields(PushOptions)} - {"store", "outbound"}
    assert of_push <= settings["push"].keys()


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("prot = 1", "a2a-adapters.toml: prot: there is no such setting; did you mean port?"),
        ("[limits]\nrun = 1", "limits.run: there is no such setting; did you mean runs?"),
        (
            "[agents.a]\ntargets = 'x:y'",
            "agents.a.targets: there is no such setting; did you mean target?",
        ),
        ("[agents.a]\nname = 'x'", "a2a-adapters.toml: agents.a.target: Field required"),
        ("[push]\nstore = 1", "push.store: there is no such setting; there are allow_private,"),
        ("port = 70000", "a2a-adapters.toml: port: Input should be less than or equal to 65535"),
        ("[limits]\nruns = -1", "limits.runs: Input should be greater than or equal to 0"),
        ("[card]\nskils = []", "card.skils: there is no such setting; did you mean skills?"),
        ("target = 'app:shout'\n[card]\nicon_url = 'x'", "Card.icon_url must be a web address"),
        ("agents = 1", "a2a-adapters.toml: agents: Input should be a valid dictionary"),
        ("push = 'x'", "a2a-adapters.toml: push: "),
        ("port = = 1", "a2a-adapters.toml is invalid: Invalid value (at line 1, column 8)"),
        ("target = 'app:shout'\ncors_origins = ['nowhere']", "'nowhere' is not an origin"),
        (
            "target = 'app:shout'\ncard_key = 'none.pem'\nurl = 'https://a.example'",
            "none.pem cannot be read: No such file",
        ),
        (
            "target = 'app:shout'\n[agents]\nb = 'app:shout'",
            "set either target or agents, not both",
        ),
        ("", "there is nothing to serve"),
    ],
)
def test_errors_suggest_the_remedy(folder, content, error):
    (folder / "a2a-adapters.toml").write_text(content)
    done = run("serve")
    assert done.returncode == 2
    assert error in done.stderr
    assert "Traceback" not in done.stderr


def test_errors_in_the_environment_are_reported(folder):
    done = run("config", "show", A2A_ADAPTERS_LIMITS_RUN="1")
    assert "A2A_ADAPTERS_LIMITS_RUN: limits.run: there is no such setting" in done.stderr
    done = run("config", "show", A2A_ADAPTERS_PUSH="perhaps")
    assert "A2A_ADAPTERS_PUSH must be true or false" in done.stderr
    assert shown(A2A_ADAPTERS_PUSH="yes")[0]["push"]["attempts"] == 5
    assert "push" not in shown(A2A_ADAPTERS_PUSH="no", A2A_ADAPTERS_PUSH_ATTEMPTS="3")[0]
    assert (
        shown(A2A_ADAPTERS_PUSH="yes", A2A_ADAPTERS_PUSH_ATTEMPTS="3")[0]["push"]["attempts"] == 3
    )


@pytest.mark.parametrize(
    ("file", "content", "error"),
    [
        ("none.toml", None, "none.toml cannot be read: No such file"),
        ("app.py", None, "app.py is neither a .toml file nor a langgraph.json"),
        ("langgraph.json", "{}", "langgraph.json names no graphs"),
        ("langgraph.json", "[", "langgraph.json is invalid: "),
        (
            "langgraph.json",
            '{"graphs": {"a": 1}}',
            "a graph must be a path such as ./agent",
        ),
    ],
)
def test_unusable_configuration_files_are_refused(folder, file, content, error):
    if content is not None:
        (folder / file).write_text(content)
    done = run("serve", "--config", file)
    assert done.returncode == 2
    assert error in done.stderr


def test_values_in_place_of_tables_are_reported(folder):
    (folder / "pyproject.toml").write_text("[tool]\na2a-adapters = 1\n")
    assert "tool.a2a-adapters is not a table" in run("config", "show").stderr


def test_a_password_is_not_shown(folder):
    settings, _ = shown(A2A_ADAPTERS_STORAGE="postgresql://me:hunter2@host/agents")
    assert settings["storage"] == "postgresql://me:***@host/agents"
    settings, _ = shown(A2A_ADAPTERS_STORAGE="postgresql://host/agents?password=hunter2&x=1")
    assert settings["storage"] == "postgresql://host/agents?password=***&x=1"


def test_the_command_line_can_revoke_a_files_permission(folder):
    (folder / "a2a-adapters.toml").write_text("host = '0.0.0.0'\nallow_unauthenticated = true\n")
    done = run("serve", "app:shout", "--port", "0", "--no-allow-unauthenticated")
    assert done.returncode == 2
    assert "--allow-unauthenticated" in done.stderr


def test_config_show_prints_toml_for_any_names(folder):
    (folder / "a2a-adapters.toml").write_text(
        "[agents.'my.graph']\ntarget = 'app:shout'\n[limits]\nrun_seconds = inf\n"
    )
    settings, _ = shown()
    assert settings["agents"]["my.graph"]["target"] == "app:shout"
    assert settings["limits"]["run_seconds"] == float("inf")


def test_the_environment_names_the_agent_of_the_command_line(folder):
    command = warm("-m", "a2a_adapters", "serve", "app:shout", "--port", "0")
    with started(command, os.environ | {"A2A_ADAPTERS_NAME": "Shouter"}) as url:
        card = httpx.get(f"{url}/.well-known/agent-card.json").json()
    assert card["name"] == "Shouter"


def test_agents_have_the_names_and_words_of_the_file(folder):
    (folder / "pyproject.toml").write_text(
        "[tool.a2a-adapters]\nport = 0\n[tool.a2a-adapters.agents]\nloud = 'app:shout'\n"
        "poet = {target = 'app:shout', name = 'The poet', description = 'Writes.'}\n"
    )
    with started(warm("-m", "a2a_adapters", "serve")) as url:
        loud, poet = cards(url.partition("/agents")[0], "loud", "poet")
    assert (loud["name"], loud["description"]) == ("loud", "Say it louder.")
    assert (poet["name"], poet["description"]) == ("The poet", "Writes.")


def test_targets_of_the_command_line_replace_those_of_the_file(folder):
    (folder / "a2a-adapters.toml").write_text(
        "port = 0\nname = 'Nobody'\ntarget = 'none:none'\ndialects = ['omniroute']\n"
    )
    with started(warm("-m", "a2a_adapters", "serve", "app:shout")) as url:
        card = httpx.get(f"{url}/.well-known/agent-card.json").json()
    assert card["name"] == "shout"


@pytest.mark.parametrize("target", ["agent:shout", "agent.py:shout"])
def test_files_are_found_where_the_settings_are(folder, target):
    (folder / "inner" / "agent.py").write_text(APP)
    (folder / "inner" / "tokens").write_text("ann: token\n")
    (folder / "inner" / "tokens").chmod(0o600)
    (folder / "inner" / "set.toml").write_text(
        f"port = 0\ntarget = '{target}'\nbearer_token_file = 'tokens'\n"
    )
    with started(warm("-m", "a2a_adapters", "serve", "--config", "inner/set.toml")) as url:
        assert httpx.post(url, json={}).status_code == 401


def test_the_graphs_of_a_langgraph_project_are_served_by_name(folder):
    (folder / "inner" / "graphs.py").write_text(
        "import os\nfrom langgraph.graph import MessagesState, StateGraph, START\n"
        "from langchain_core.messages import AIMessage\n"
        "graph = StateGraph(MessagesState)\n"
        "graph.add_node('say', lambda _: {'messages': [AIMessage(os.environ['WORD'])]})\n"
        "graph.add_edge(START, 'say')\ngraph = graph.compile()\n"
    )
    (folder / ".env").write_text("WORD=hello\n")
    (folder / "langgraph.json").write_text(
        json.dumps(
            {
                "dependencies": ["."],
                "env": ".env",
                "graphs": {
                    "one": "./inner/graphs.py:graph",
                    "two": {"path": "./inner/graphs.py:graph", "description": "The second."},
                },
            }
        )
    )
    with started(warm("-m", "a2a_adapters", "serve", "--port", "0")) as url:
        base = url.partition("/agents")[0]
        assert cards(base, "two")[0]["description"] == "The second."
        said = run("send", f"{base}/agents/one", "hi")
    assert said.stdout == "hello\n"


def test_a_change_starts_the_server_again(folder):
    command = warm("-m", "a2a_adapters", "serve", "app:shout", "--port", "0", "--reload")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            addresses = (found[1] for line in server.stderr if (found := ADDRESS.search(line)))
            assert run("send", next(addresses), "Ann").stdout == "ANN\n"
            (folder / "app.py").write_text(APP.replace("upper", "casefold"))
            assert run("send", next(addresses), "Ann").stdout == "ann\n"
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=PATIENCE)


async def test_targets_of_a_mapping_have_names_and_words():
    async def opened():
        return lambda text: text

    target = {"poet": NamedTarget(opened, "The poet", "Writes."), "other": NamedTarget(opened)}
    async with running(build_app(target)) as url, httpx.AsyncClient() as http:
        listed = (await http.get(f"{url}/agents")).json()["agents"]
        assert [each["name"] for each in listed] == ["The poet", "other"]
        async with connect(f"{url}/agents/poet") as client:
            assert answer_of(await send(client, user_message("hi"))) == "hi"


def test_settings_for_programs(folder, monkeypatch):
    monkeypatch.setenv("A2A_ADAPTERS_STORAGE", "postgresql://me:s3cret@db/a")
    done = run("config", "show", "-o", "json", A2ACLI_BEARER="s3cret")
    settings = {each["name"]: each for each in json.loads(done.stdout)}
    assert settings["port"] == {"name": "port", "value": 8000, "origin": "default"}
    assert settings["storage"]["value"] == "postgresql://me:***@db/a"
    assert settings["A2ACLI_BEARER"] == {
        "name": "A2ACLI_BEARER", "value": "***", "origin": "environment",
    }  # fmt: skip
    assert "s3cret" not in done.stdout
