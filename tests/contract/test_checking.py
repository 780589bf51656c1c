"""Options are checked where they are constructed, and errors name the field."""

from __future__ import annotations

import math

import pytest

from a2a_adapters import (
    ConfigurationError,
    Limits,
    OutboundPolicy,
    PushOptions,
    RemoteAgent,
    RemoteOptions,
    ServerOptions,
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
