"""Options are checked where they are constructed, and errors name the field."""

from __future__ import annotations

import importlib
import inspect
import math
from contextlib import suppress
from pathlib import Path

import pytest
from agents import Agent
from pydantic import BaseModel

from a2a_adapters import (
    ApiKeyAuth,
    ApiKeys,
    BearerAuth,
    BearerTokens,
    ConfigurationError,
    Fleet,
    ForwardedUser,
    HeadersAuth,
    InvalidInputError,
    Limits,
    MissingExtraError,
    NamedTarget,
    OutboundPolicy,
    PushOptions,
    RemoteAgent,
    RemoteOptions,
    ServerOptions,
    Skill,
    as_executor,
    build_app,
    serve,
    serve_in_background,
)


def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


@pytest.mark.parametrize(
    ("make", "field", "value", "problem"),
    [
        (Limits, "run_seconds", -1, "greater than 0"),
        (Limits, "run_seconds", 0, "greater than 0"),
        (Limits, "idle_seconds", math.nan, "greater than 0"),
        (Limits, "runs", -5, "0 or more"),
        (Limits, "runs", 2.5, "a whole number"),
        (Limits, "runs", True, "a whole number"),
        (Limits, "body_bytes", "16MB", "a whole number"),
        (Limits, "history_seconds", None, "a number"),
        (PushOptions, "attempts", 0, "greater than 0"),
        (RemoteOptions, "timeout", 0, "greater than 0"),
        (RemoteOptions, "retries", -1, "0 or more"),
        (RemoteOptions, "trusted_hosts", "a.example", "a list of strings"),
        (OutboundPolicy, "allowed_hosts", "a.example", "a list of strings"),
        (OutboundPolicy, "resolve_seconds", "5", "a number"),
        (ServerOptions, "limits", {"runs": 5}, "Limits(...)"),
        (ServerOptions, "grpc_port", 99999, "a number from 0 to 65535"),
        (ServerOptions, "allowed_hosts", "a.example", "a list of strings"),
        (ServerOptions, "cors_origins", "https://a.example", "a list of strings"),
    ],
)
def test_a_wrong_value_is_refused_with_its_fields_name(make, field, value, problem):
    with pytest.raises(ConfigurationError) as refused:
        make(**{field: value})
    assert f"{make.__name__}.{field} must be {problem}" in str(refused.value)
    assert make()


URL = "http://127.0.0.1:9"


def sent(message="x", **options):
    return RemoteAgent(URL).send_sync(message, **options)


def skill(**fields):
    return Skill(**{"id": "talk", "name": "Talk", "description": "Talks.", **fields})


async def redact_later(event):
    return event


WRONG_CALLS = {
    "an agent or a URL": (lambda: RemoteAgent(8000), "a URL or an AgentCard, not 8000"),
    "no agent": (lambda: RemoteAgent(None), "a URL or an AgentCard, not None"),
    "bytes": (lambda: RemoteAgent(b"http://a"), "a URL or an AgentCard"),
    "a token as auth": (lambda: RemoteAgent(URL, auth="s3cret"), "must be BearerAuth.*not str"),
    "no token": (lambda: BearerAuth(None), "must be a string or a callable, not NoneType"),
    "a number as key": (lambda: ApiKeyAuth(7), "must be a string or a callable, not int"),
    "a token with an umlaut": (lambda: BearerAuth("s3cretü"), "it must be ASCII text"),
    "a list of headers": (lambda: HeadersAuth(["X"]), "a mapping of names to values, not list"),
    "a number in a header": (lambda: HeadersAuth({"X": 1}), "header 'X' cannot be sent"),
    "a policy that is true": (lambda: RemoteOptions(outbound=True), r"must be OutboundPolicy\("),
    "no TLS": (lambda: RemoteOptions(tls=False), "an ssl.SSLContext, not bool"),
    "a stream as a word": (lambda: RemoteOptions(stream="no"), "True or False, not str"),
    "no message": (lambda: sent(None), "a message is text, a Text, File or Data"),
    "a number as message": (lambda: sent(42), "send JSON as Data"),
    "a dict as message": (lambda: sent({"a": 1}), "send JSON as Data"),
    "an object as part": (lambda: sent([object()]), "a message is text"),
    "headers of a call": (lambda: sent(headers=["X"]), "a mapping of names to values, not list"),
    "a header of a call": (lambda: sent(headers={"X": 1}), "header 'X' cannot be sent"),
    "metadata of a call": (lambda: sent(metadata=[1]), "metadata must be a mapping, not list"),
    "a number as name": (lambda: build_app(shout, name=5), "name must be a string, not int"),
    "a number as url": (lambda: build_app(shout, url=5), "url must be a string, not int"),
    "one dialect": (lambda: build_app(shout, dialects="openai"), "such as .'openai'."),
    "a number as storage": (lambda: ServerOptions(storage=5), "storage must be a string"),
    "a token": (lambda: ServerOptions(authentication="s3cret"), "BearerTokens.*, not str"),
    "a list of tokens": (lambda: BearerTokens(["s3cret"]), "each bearer token to its user, not"),
    "a list of keys": (lambda: ApiKeys(["s3cret"]), "each API key to its user, not list"),
    "push that is true": (lambda: ServerOptions(push=True), "must be PushOptions.*not bool"),
    "a console as a word": (lambda: ServerOptions(console="yes"), "True or False, not str"),
    "a dict as redact": (lambda: ServerOptions(redact={}), "a function of a value, not dict"),
    "a function of two": (
        lambda: ServerOptions(redact=lambda event, more: event),
        r"redact must be a function of a value, but it takes \(event, more\)",
    ),
    "an async function": (lambda: ServerOptions(redact=redact_later), "redact .*, but it is async"),
    "files as a path": (lambda: ServerOptions(files="files"), r"files must be a FileStore\(...\)"),
    "metrics as a word": (
        lambda: ServerOptions(metrics="no"),
        "metrics must be True or False, not",
    ),
    "no, which is true": (
        lambda: serve(shout, host="0.0.0.0", allow_unauthenticated="no"),
        "allow_unauthenticated must be True or False, not str",
    ),
    "a dict at the start": (lambda: serve(shout, on_start={}), "on_start must be a function of"),
    "a name that is no text": (lambda: NamedTarget(shout, name=5), "NamedTarget.name must be a st"),
    "tags as a word": (lambda: skill(tags="chat"), r"Skill.tags must be .*, such as \['chat'\]"),
    "a number among words": (lambda: skill(tags=["a", 5]), "strings, but it contains int"),
    "a schema as a list": (lambda: skill(input_schema=[]), "input_schema must be a mapping"),
    "a prefix": (lambda: Fleet({"a": URL}, prefix=5), "prefix must be a string, not int"),
    "a class": (lambda: RemoteOptions(outbound=OutboundPolicy), "not the class OutboundPolicy"),
    "no header": (lambda: ForwardedUser(None), "ForwardedUser.header must be a string"),
    "an unknown format": (lambda: ServerOptions(log_format="xml"), "'text' or 'json', not 'xml'"),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_says_what_is_right(name):
    call, said = WRONG_CALLS[name]
    with pytest.raises((ConfigurationError, InvalidInputError), match=said) as caught:
        call()
    assert "s3cret" not in str(caught.value)


IN_PLUGINS = {
    "a2a_adapters_acp.AcpAgent": {"command": "cat"},
    "a2a_adapters_ag_ui.AgUiAgent": {"url": URL},
    "a2a_adapters_autogen.MemoryStateStore": {},
    "a2a_adapters_bench.Load": {},
    "a2a_adapters_cache.AnswerCache": {"agent": RemoteAgent(URL), "user": None},
    "a2a_adapters_dbos.A2AStep": {"agent": RemoteAgent(URL)},
    "a2a_adapters_endpoints.ChatAgent": {"url": URL, "model": "small"},
    "a2a_adapters_endpoints.CommandAgent": {"command": "cat"},
    "a2a_adapters_endpoints.WebhookAgent": {"url": URL},
    "a2a_adapters_files.FileStore": {"place": "files", "secret": "0123456789abcdef" * 2},
    "a2a_adapters_mcp.McpServer": {"server": URL},
    "a2a_adapters_mcp.McpTools": {},
    "a2a_adapters_oauth.GoogleAccessTokens": {"audience": "client"},
    "a2a_adapters_oauth.TokenIntrospection": {
        "url": "https://a.example", "client_id": "client", "client_secret": "secret",
    },
    "a2a_adapters_omniroute.OmniRouteClient": {},
    "a2a_adapters_omniroute.OmniRouteDialect": {},
    "a2a_adapters_openai_agents.OpenAIAgentsAdapter": {"agent": Agent("x")},
    "a2a_adapters_webhooks.WebhookReceiver": {"url": URL},
}  # fmt: skip
"""The public classes of plugins with numbers among their arguments, and their other arguments."""

CHECKED_ELSEWHERE = {
    "a2a_adapters_autogen.A2ATool",  # by `LimitedWait`
    "a2a_adapters_autogen.AutoGenAdapter",  # needs a team; checked alike
    "a2a_adapters_autogen.adapt",  # by the adapter
    "a2a_adapters_bench.Figures",  # a result
    "a2a_adapters_check.Report",  # a result
    "a2a_adapters_omniroute.OmniRouteChatCompletionClient",  # as `OmniRouteClient`
    "a2a_adapters_omniroute.Routing",  # of one request
    "a2a_adapters_openai_agents.adapt",  # by the adapter
    "a2a_adapters_pydantic_ai.A2AToolset",  # by `StatelessTool`
    "a2a_adapters_smolagents.A2ATool",  # by `StatelessTool`
}


def numbers_of(name):
    """Return the names of a class's arguments that are numbers."""
    module, _, attribute = name.partition(".")
    parameters = inspect.signature(getattr(importlib.import_module(module), attribute)).parameters
    return [
        each.name
        for each in parameters.values()
        if str(each.annotation) in {"int", "float", "int | None", "float | None"}
    ]


def public_classes():
    for folder in (Path(__file__).parents[2] / "plugins").glob("*/a2a_adapters_*"):
        module = importlib.import_module(folder.name)
        for name in getattr(module, "__all__", ()):
            with suppress(MissingExtraError):
                found = getattr(module, name)
                if isinstance(found, type) and not issubclass(found, (Exception, BaseModel)):
                    yield f"{module.__name__}.{name}"


def test_the_table_of_plugins_is_complete():
    named = {name for name in public_classes() if numbers_of(name)}
    assert sorted(named - CHECKED_ELSEWHERE) == sorted(IN_PLUGINS)


@pytest.mark.parametrize("name", IN_PLUGINS)
@pytest.mark.parametrize("value", [-1, math.nan, True, "5"])
def test_numbers_of_plugins_are_checked(name, value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module, _, attribute = name.partition(".")
    make = getattr(importlib.import_module(module), attribute)
    for field in numbers_of(name):
        with pytest.raises(ConfigurationError, match=f"{field} must be (a |greater|0 or more)"):
            make(**IN_PLUGINS[name], **{field: value})


def test_a_limit_may_be_infinite():
    assert Limits(run_seconds=math.inf, queued_runs=0, shutdown_seconds=0).run_seconds == math.inf


@pytest.mark.parametrize("options", [{}, {"runs": 5}, Limits()])
@pytest.mark.parametrize("begin", [as_executor, build_app, serve, serve_in_background])
def test_options_of_another_type_are_refused(begin, options):
    with pytest.raises(ConfigurationError, match=r"options must be ServerOptions\(...\)"):
        begin(shout, options=options)


def test_a_remote_agent_refuses_options_of_another_type():
    with pytest.raises(ConfigurationError, match=r"options must be RemoteOptions\(...\), not {}"):
        RemoteAgent("http://127.0.0.1:9", options={})


@pytest.mark.parametrize("port", [99999, -1, "8000", 80.5])
@pytest.mark.parametrize("begin", [serve, serve_in_background])
def test_there_are_ports_up_to_65535(begin, port):
    with pytest.raises(ConfigurationError, match=f"port must be .* not {port!r}"):
        begin(shout, port=port)


def test_an_option_may_be_of_any_class_with_the_methods():
    class Figures:
        def shared(self):
            raise NotImplementedError

    figures = Figures()
    assert ServerOptions(metrics=figures).metrics is figures
