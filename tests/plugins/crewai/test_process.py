"""Importing and serving crewai leaves the user's process unchanged."""

from __future__ import annotations

import os
import subprocess
import sys

import a2a_adapters_crewai
import pytest
from a2a_adapters_crewai import quiet

from a2a_adapters import ConfigurationError, MissingExtraError
from a2a_adapters.testing import answer_of, connect, send, user_message
from tests.support.processes import PATIENCE, serving

APP = """
from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM

class Model(BaseLLM):
    def call(self, messages, **_):
        return "Final Answer: hello"

writer = Agent(role="Writer", goal="Write", backstory="b", llm=Model(model="fake"))
crew = Crew(agents=[writer], tasks=[Task(description="{topic}", expected_output="o", agent=writer)])
"""

QUIET = """
import asyncio, signal, socket, sys, threading
before = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
looked_up = []
def refuse(host, *_, **__):
    looked_up.append(host)
    raise OSError("no network")
socket.getaddrinfo = refuse
import a2a_adapters_crewai
assert "crewai" not in sys.modules, "importing the plugin imported crewai"
assert a2a_adapters_crewai.a2a_adapt(print) is None
{IMPORT}
from app import crew
from a2a_adapters import AgentRequest, Text
from a2a_adapters.plugin import installed_plugins
from a2a.types import Message
adapter = installed_plugins().adapt(crew)
request = AgentRequest(parts=[Text("x")], message=Message(), task_id="t", context_id="c")
async def run():
    events = [event async for event in adapter.stream(request)]
    await adapter.aclose()
    return events
print(asyncio.run(run())[0].text)
after = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
assert before == after, "signal handlers were replaced"
assert not looked_up, looked_up
assert not [t for t in threading.enumerate() if "Otel" in t.name]
"""

UNQUIET = """
import asyncio
from app import crew
from a2a_adapters import AgentRequest, Text
from a2a_adapters.plugin import installed_plugins
from a2a.types import Message
adapter = installed_plugins().adapt(crew)
request = AgentRequest(parts=[Text("x")], message=Message(), task_id="t", context_id="c")
async def run():
    events = [event async for event in adapter.stream(request)]
    print(events[0].text)
asyncio.run(run())
"""


@pytest.fixture
def clean(tmp_path):
    """Return the environment of a user's process, in whose folder there is an app."""
    (tmp_path / "app.py").write_text(APP)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("CREWAI", "OTEL"))}
    return {"env": {**environment, "HOME": str(tmp_path / "home")}, "cwd": tmp_path}


def python(*arguments, env, cwd):
    """Run a process that reads nothing, to its end."""
    return subprocess.run(
        [sys.executable, *arguments],
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def card(target, clean):
    return python("-m", "a2a_adapters", "card", target, **clean)


@pytest.mark.parametrize(
    "lines",
    [
        "a2a_adapters_crewai.quiet()",
        "from a2a_adapters_crewai import quiet, adapt; quiet()",
        "from a2a_adapters_crewai import adapt",
    ],
)
def test_a_quiet_process_keeps_its_signal_handlers_and_sends_no_telemetry(lines, clean):
    done = python("-W", "ignore", "-c", QUIET.replace("{IMPORT}", lines), **clean)
    assert done.stdout.startswith("hello\n"), done.stderr
    assert done.returncode == 0, done.stderr


def test_the_first_run_asks_no_question_about_tracing(clean):
    clean["env"]["CREWAI_DISABLE_TELEMETRY"] = "true"
    done = python("-W", "ignore", "-c", UNQUIET, **clean)
    assert done.stdout.startswith("hello\n"), done.stderr  # no question before it


def test_the_command_line_makes_crewai_quiet(clean):
    code = "import os, signal; print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)"
    app = clean["cwd"] / "app.py"
    app.write_text(f"{APP}\n{code}\nprint(os.environ['CREWAI_DISABLE_TELEMETRY'])")
    done = card("app:crew", clean)
    assert done.stdout.startswith("True\ntrue\n")


def test_the_command_line_keeps_the_users_settings(clean):
    clean["env"]["CREWAI_DISABLE_TELEMETRY"] = "yes, please"
    (clean["cwd"] / "app.py").write_text(
        "import os\ndef app(text):\n  '''Set.'''\nprint(os.environ['CREWAI_DISABLE_TELEMETRY'])"
    )
    done = card("app:app", clean)
    assert done.stdout.startswith("yes, please\n")


def test_an_unwritable_home_is_named(clean):
    clean["env"]["HOME"] = "/proc/nobody"
    done = card("app:crew", clean)
    assert done.returncode == 2
    assert "crewai stores files in /proc/nobody/.local/share/crewai" in done.stderr
    assert "set HOME to a folder where it can" in done.stderr
    assert "Traceback" not in done.stderr


def test_quiet_names_an_unwritable_home(monkeypatch):
    monkeypatch.setenv("HOME", "/proc/nobody")
    with pytest.raises(ConfigurationError, match=r"/proc/nobody.*set HOME"):
        quiet()


def test_quiet_is_refused_after_crewai_is_imported(monkeypatch):
    monkeypatch.delenv("CREWAI_DISABLE_TELEMETRY")
    with pytest.raises(ConfigurationError, match="before crewai is imported"):
        quiet()


def test_a_missing_framework_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "crewai", None)
    with pytest.raises(MissingExtraError, match=r"a2a-adapters\[crewai\]"):
        _ = a2a_adapters_crewai.adapt
    with pytest.raises(AttributeError, match="nothing"):
        _ = a2a_adapters_crewai.nothing


async def test_the_command_line_serves_a_crew(clean):
    with serving("app:crew", {**clean["env"], "PYTHONPATH": str(clean["cwd"])}) as url:
        async with connect(url) as client:
            assert answer_of(await send(client, user_message("hi"))) == "hello"
