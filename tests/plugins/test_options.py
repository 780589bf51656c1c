"""Options of a wrong type are refused where they are given, and not by the first message.

Each environment tests the plugins whose frameworks it has.
"""

from __future__ import annotations

import importlib
import inspect
import re
from contextlib import suppress
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from a2a_adapters import ConfigurationError, MissingExtraError, RemoteAgent
from a2a_adapters.plugin import AgentDescription, Factory
from tests.support.programs import has

if has("crewai"):  # without its telemetry and warnings
    importlib.import_module("tests.plugins.crewai.conftest")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:crewai")

URL = "http://127.0.0.1:9"
ABOUT = AgentDescription(name="helper", description="Helps.")


def support(plugin):
    return importlib.import_module(f"tests.plugins.{plugin}.support")


def agent(plugin):
    return lambda: [support(plugin).agent("ok")]


def team(plugin):
    def make():
        return support(plugin).team(support(plugin).agent("ok"))

    return lambda: [Factory(make, make())]


def graph():
    from langgraph.graph import START, MessagesState, StateGraph

    made = StateGraph(MessagesState).add_node("echo", lambda state: state)
    return made.add_edge(START, "echo").compile()


def chain():
    from langchain_core.runnables import RunnableLambda

    return RunnableLambda(str.upper)


def claude_options():
    from claude_agent_sdk import ClaudeAgentOptions

    return ClaudeAgentOptions()


def echo(text: str) -> str:
    return text


async def workflow(text: str) -> str:
    return text


class Flow:
    async def run(self, text: str) -> str:
        return text


GIVEN = {
    "acp.AcpAgent": lambda: ["cat"],
    "acp.Permissions": list,
    "ag_ui.AgUiAgent": lambda: [URL],
    "agent_framework.A2AChatClient": lambda: [URL],
    "agent_framework.WorkflowAdapter": team("agent_framework"),
    "agent_framework.a2a_tool": lambda: [URL, ABOUT],
    "agent_framework.adapt": agent("agent_framework"),
    "autogen.A2AAgent": lambda: ["helper", URL],
    "autogen.A2AChatCompletionClient": lambda: [URL],
    "autogen.A2ATool": lambda: [URL, "helper", "Helps."],
    "autogen.A2AToolkit": lambda: [{"helper": URL}],
    "autogen.MemoryStateStore": list,
    "autogen.adapt": agent("autogen"),
    "bench.Load": list,
    "cache.AnswerCache": lambda: [RemoteAgent(URL)],
    "claude_agent.a2a_tool": lambda: [URL, ABOUT],
    "claude_agent.adapt": lambda: [claude_options()],
    "console.Console": list,
    "crewai.Options": list,
    "crewai.adapt": lambda: [support("crewai").crew("ok")],
    "dbos.A2AStep": lambda: [RemoteAgent(URL)],
    "dbos.a2a_step": lambda: [URL],
    "dbos.adapt": lambda: [workflow],
    "endpoints.ChatAgent": lambda: [URL, "small"],
    "endpoints.CommandAgent": lambda: ["cat"],
    "endpoints.RemoteA2AAgent": lambda: [URL],
    "endpoints.WebhookAgent": lambda: [URL],
    "files.FileStore": lambda: ["files"],
    "files.LocalFile": lambda: ["file"],
    "functions.adapt": lambda: [echo],
    "google_adk.A2ATool": lambda: [URL, ABOUT],
    "google_adk.adapt": agent("google_adk"),
    "jwt.AlbTokens": lambda: ["arn:aws:elasticloadbalancing:eu-west-1:1:loadbalancer/app/a/b"],
    "jwt.JwtTokens": lambda: [URL],
    "langchain.A2ARunnable": lambda: [URL],
    "langchain.A2ATaskNode": lambda: [URL],
    "langchain.GraphAdapter": lambda: [graph()],
    "langchain.RunnableAdapter": lambda: [chain()],
    "langchain.adapt": lambda: [graph()],
    "llama_index.a2a_tool": lambda: [URL, ABOUT],
    "llama_index.adapt": agent("llama_index"),
    "mcp.McpServer": lambda: [URL],
    "mcp.McpTools": list,
    "oauth.ClientCredentials": lambda: ["client", "secret"],
    "oauth.GoogleAccessTokens": lambda: ["client"],
    "oauth.JwtBearer": lambda: ["assertion"],
    "oauth.TokenExchange": lambda: ["token"],
    "oauth.TokenIntrospection": lambda: ["https://a.example"],
    "omniroute.OmniRouteClient": list,
    "omniroute.OmniRouteDialect": list,
    "openai_agents.A2AModel": lambda: [URL],
    "openai_agents.a2a_handoff": lambda: [URL, ABOUT],
    "openai_agents.a2a_tool": lambda: [URL, ABOUT],
    "openai_agents.adapt": agent("openai_agents"),
    "pydantic_ai.A2AModel": lambda: [URL],
    "pydantic_ai.A2AToolkit": lambda: [{"helper": URL}],
    "pydantic_ai.A2AToolset": lambda: [URL],
    "pydantic_ai.adapt": agent("pydantic_ai"),
    "smolagents.A2AManagedAgent": lambda: [URL, ABOUT],
    "smolagents.A2ATool": lambda: [URL, ABOUT],
    "smolagents.adapt": agent("smolagents"),
    "strands.A2AModel": lambda: [URL],
    "strands.TeamAdapter": team("strands"),
    "strands.a2a_tool": lambda: [URL, ABOUT],
    "strands.adapt": agent("strands"),
    "temporal.A2AActivity": lambda: ["ask", URL],
    "temporal.TemporalWorkflow": lambda: [lambda: None, Flow.run],
    "webhooks.WebhookReceiver": lambda: [URL],
}
"""The functions and classes of plugins with options, and their arguments before these."""

REQUIRED = {
    "cache.AnswerCache": {"user": None},
    "files.FileStore": {"secret": "0123456789abcdef" * 2},
    "jwt.JwtTokens": {"issuer": "https://a.example", "audience": "agents"},
    "oauth.JwtBearer": {"issuer": "https://a.example"},
    "oauth.TokenExchange": {"issuer": "https://a.example"},
    "oauth.TokenIntrospection": {"client_id": "client", "client_secret": "secret"},
    "temporal.TemporalWorkflow": {"task_queue": "agents"},
}
"""Options that are required."""


def found(name):
    plugin, _, attribute = name.partition(".")
    return getattr(importlib.import_module(f"a2a_adapters_{plugin}"), attribute)


def options_of(name):
    """Yield the names and annotations of options."""
    for each in inspect.signature(found(name)).parameters.values():
        if each.kind is each.KEYWORD_ONLY and isinstance(each.annotation, str):
            yield each.name, each.annotation


def wrong_for(hint):
    """Yield values that do not fit an annotation."""
    if hint in {"object", "Any", "JSON"}:
        return
    yield from [object(), [object()]]
    if not re.search("Callable|MakeConfig|ReadInputs|Secret", hint):
        yield int
    if "None" not in hint:
        yield None
    if "dict" not in hint and "Mapping" not in hint and "RunLimits" not in hint:
        yield {"a": object()}
    if "str" not in hint and "Secret" not in hint and hint != "By":
        yield from ["word", b"word"]
    if re.fullmatch(r"(Sequence|Collection|frozenset)\[str\]( \| None)?", hint):
        yield from ["word", {"word": 1}]
    if "int" not in hint and "float" not in hint:
        yield 7
    if "bool" not in hint:
        yield True
    if "Callable[..." not in hint:
        yield lambda a, b, c, d, e: None


def is_here(name):
    with suppress(MissingExtraError, ModuleNotFoundError):
        return bool(found(name))
    return False


@pytest.mark.parametrize("name", [each for each in GIVEN if is_here(each)])
def test_a_wrong_option_is_refused_by_its_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for option, hint in options_of(name):
        for value in wrong_for(hint):
            given = {**REQUIRED.get(name, {}), option: value}
            with pytest.raises((ConfigurationError, ValidationError), match=option):
                found(name)(*GIVEN[name](), **given)


@pytest.mark.parametrize("name", [each for each in GIVEN if is_here(each)])
def test_the_right_options_are_accepted(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, required = found(name), REQUIRED.get(name, {})
    parameters = inspect.signature(call).parameters
    defaults = {option: parameters[option].default for option, _ in options_of(name)}
    assert call(*GIVEN[name](), **{**defaults, **required})


ELSEWHERE = {
    "check.check",  # it is async
    "crewai.serve_crew",  # of the core
    "dbos.ask", "dbos.ask_blocking", "files.download", "files.save",  # one call each
    "functions.FunctionAdapter",  # as `adapt`
    "jwt.card_signer", "oauth.SigningKey",  # take a key
    "omniroute.OmniRouteChatCompletionClient",  # checked by pydantic
    "ag_ui.FrontEnd", "check.Report", "omniroute.OmniRouteCard", "omniroute.OmniRouteReply",
    "omniroute.OmniRouteTask", "omniroute.Routing",  # of one request
}  # fmt: skip


def public_names():
    for folder in sorted((Path(__file__).parents[2] / "plugins").glob("*/a2a_adapters_*")):
        plugin = folder.name.removeprefix("a2a_adapters_")
        module = importlib.import_module(folder.name)
        for each in getattr(module, "__all__", ()):
            with suppress(MissingExtraError):
                value = getattr(module, each)
                is_model = isinstance(value, type) and issubclass(value, (Exception, BaseModel))
                if callable(value) and not is_model:
                    yield f"{plugin}.{each}"


def test_the_table_is_complete():
    known = [found(name) for name in GIVEN if is_here(name)]  # `adapt` is often the adapter's class
    named = {name for name in public_names() if any(options_of(name)) and found(name) not in known}
    assert sorted(named - ELSEWHERE) == []
