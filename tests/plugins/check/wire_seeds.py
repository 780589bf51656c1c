"""Servers with one fault in their responses, and the check that finds it."""

from __future__ import annotations

from typing import Any

from tests.plugins.check.broken import CARD, Edit, Given, error, on_card, on_method, on_path, result
from tests.plugins.check.card_seeds import interface
from tests.plugins.check.support import Seed, guarded, put

TRACE = 'Traceback (most recent call last):\n  File "/srv/app.py", line 3, in run'


def _version(number: int) -> Edit:
    """Return an edit that accepts any version."""

    def edit(asked: Any, given: Given) -> Given:
        if asked.headers.get("a2a-version") != "99.0":
            return given
        if asked.method:
            return error(number)(given)
        return Given(404, given.headers).of({"error": {"code": 404, "message": "No."}})

    return edit


def _credentialed(asked: Any, given: Given) -> Given:
    origin = asked.headers.get("origin")
    if not origin:
        return given
    return Given(
        200,
        {
            "content-type": "application/json",
            "access-control-allow-origin": origin,
            "access-control-allow-credentials": "true",
        },
    )


def _rest_status(given: Given) -> Given:
    body = given.json
    body["error"]["code"] = 500
    return given.of(body)


def _without_details(given: Given) -> Given:
    body = given.json
    body["error"].pop("details")
    return given.of(body)


def _untyped(given: Given) -> Given:
    body = given.json
    body["error"]["data"] = [{"reason": "TASK_NOT_FOUND"}]
    return given.of(body)


def _without_message(given: Given) -> Given:
    body = given.json
    body["error"].pop("message")
    return given.of(body)


def _rpc_field(name: str, value: Any) -> Edit:
    def change(given: Given) -> Given:
        return given.of({**given.json, name: value})

    return on_method("GetTask", change)


def _let_in(asked: Any, given: Given) -> Given:
    """Answer anonymous requests like authenticated ones."""
    if given.status != 401:
        return given
    return error(-32001, "Task not found")(given)


def _let_in_with_any(asked: Any, given: Given) -> Given:
    return _let_in(asked, given) if "made-up" in asked.headers.get("authorization", "") else given


def with_requirement(card: dict[str, Any]) -> None:
    card.update(securityRequirements=[{"schemes": {"key": {}}}], security=[{"key": []}])


def without_security(card: dict[str, Any]) -> None:
    for name in ("securitySchemes", "securityRequirements", "security"):
        del card[name]


def _open_extended(asked: Any, given: Given) -> Given:
    given = put("capabilities/extendedAgentCard", True)(asked, given)
    if asked.method == "GetExtendedAgentCard":
        return result({"name": "Secret", "version": "1"})(given)
    return given


def _broken_json(asked: Any, given: Given) -> Given:
    if asked.verb == "POST" and asked.body is None and asked.path == "/":
        return error(-32603, TRACE)(given)
    return given


def _path_in_error(asked: Any, given: Given) -> Given:
    if asked.verb == "POST" and asked.body is None and asked.path == "/":
        return error(-32700, "cannot open /srv/agent/settings.yaml")(given)
    return given


def _no_json_ok(asked: Any, given: Given) -> Given:
    is_broken = asked.verb == "POST" and asked.body is None and asked.path == "/"
    return error(-32603)(given) if is_broken else given


def _no_request_ok(asked: Any, given: Given) -> Given:
    is_bare = isinstance(asked.body, dict) and asked.body.keys() == {"jsonrpc", "id"}
    return result({})(given) if is_bare else given


def _params_ok(asked: Any, given: Given) -> Given:
    params = asked.body.get("params") if isinstance(asked.body, dict) else None
    if asked.method == "GetTask" and isinstance(params.get("id"), dict):
        return error(-32603)(given)
    return given


def _pages(asked: Any, given: Given) -> Given:
    two = result({"tasks": [{}, {}], "totalSize": 2})
    return two(given) if asked.method == "ListTasks" else given


def _answers(asked: Any, given: Given) -> Given:
    """Answer what the sound server refuses because of its headers."""
    return Given(200) if asked.path == CARD and given.status == 400 else given


def _answers_pages(asked: Any, given: Given) -> Given:
    is_refused = given.status in {403, 421} and asked.path == "/"
    return error(-32001, "Task not found")(given) if is_refused else given


def _plain(asked: Any, given: Given) -> Given:
    return interface(url="http://10.0.0.7/")(asked, given)


WIRE_SEEDS = [
    Seed("several hosts", "wire.host", _answers),
    Seed("ambiguous lengths", "wire.length", _answers),
    Seed("pages of other sites", "security.rebinding", _answers_pages),
    Seed("credentials without TLS", "security.plain", _plain, app=guarded),
    Seed("an unreachable interface", "binding.answers", interface()),
    Seed("an unreachable gRPC interface", "binding.grpc", interface(protocolBinding="GRPC")),
    Seed(
        "a redirect", "binding.redirect", on_path("/tasks", lambda g: Given(308, {"location": "/"}))
    ),
    Seed(
        "a page instead of a binding",
        "binding.speaks",
        on_path("/tasks", lambda g: Given(404, {"content-type": "text/html"}, b"<p>")),
    ),
    Seed("the wrong envelope", "binding.envelope", _rpc_field("jsonrpc", "1.0")),
    Seed("another id", "binding.envelope", _rpc_field("id", 7)),
    Seed(
        "another media type",
        "binding.media-type",
        on_method("GetTask", lambda g: g.with_headers(content_type="text/plain")),
    ),
    Seed("a list over one binding only", "binding.equal", on_method("ListTasks", error(-32603))),
    Seed("a made-up task", "error.unknown-task", on_method("GetTask", result({"id": "x"}))),
    Seed(
        "another code for an unknown task",
        "error.unknown-task",
        on_method("GetTask", error(-32603)),
    ),
    Seed(
        "cancelling nothing",
        "error.unknown-task-cancel",
        on_method("CancelTask", result({"id": "x"})),
        sends=True,
    ),
    Seed("an unknown method", "error.unknown-method", on_method("NoSuchMethod", error(-32603))),
    Seed("truncated JSON", "error.no-json", _no_json_ok),
    Seed("JSON that is not a request", "error.no-request", _no_request_ok),
    Seed("wrong params", "error.params", _params_ok),
    Seed("any version", "error.version", _version(-32001)),
    Seed("an error without message", "error.shape", on_method("GetTask", _without_message)),
    Seed("details without type", "error.details", on_method("GetTask", _untyped)),
    Seed("no reason over REST", "error.details", on_path("/tasks/", _without_details)),
    Seed("another code than the status", "error.status", on_path("/tasks/", _rest_status)),
    Seed("no list of tasks", "capability.list", on_method("ListTasks", error(-32601))),
    Seed("a list that is too long", "capability.page-size", _pages),
    Seed(
        "no subscriptions",
        "capability.streaming",
        on_method("SubscribeToTask", error(-32601)),
        edits_subscriptions=True,
    ),
    Seed("no push notifications", "capability.push", put("capabilities/pushNotifications", True)),
    Seed(
        "streaming is not declared",
        "capability.undeclared-streaming",
        put("capabilities/streaming", False),
    ),
    Seed(
        "push is not declared",
        "capability.undeclared-push",
        on_method("ListTaskPushNotificationConfigs", result({"configs": []})),
    ),
    Seed(
        "the extended card is not declared",
        "capability.undeclared-extended-card",
        on_method("GetExtendedAgentCard", result({"name": "a"})),
    ),
    Seed("a scheme that is not described", "security.scheme", on_card(with_requirement)),
    Seed(
        "a scheme of an unknown type",
        "security.scheme",
        put("securitySchemes", {"key": {"lock": {}}}),
    ),
    Seed("anonymous access", "security.anonymous", _let_in, app=guarded),
    Seed("any token is accepted", "security.wrong-credentials", _let_in_with_any, app=guarded),
    Seed(
        "no challenge",
        "security.challenge",
        lambda a, g: g.with_headers(www_authenticate=""),
        app=guarded,
    ),
    Seed(
        "credentials that the card does not name",
        "security.undeclared",
        on_card(without_security),
        app=guarded,
    ),
    Seed("a public extended card", "security.extended-card", _open_extended),
    Seed("credentials for any origin", "security.cors", _credentialed),
    Seed("a stack trace", "security.trace", _broken_json),
    Seed("a path", "security.path", _path_in_error),
]
