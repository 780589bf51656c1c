"""Servers with one fault in their answers to messages, and the check that finds it."""

from __future__ import annotations

from typing import Any

from tests.plugins.check.broken import Asked, Edit, Given, error, on_events, on_method, result
from tests.plugins.check.support import Seed, pushing_anywhere, put

REQUIRED = [{"uri": "https://example.org/extensions/needed", "required": True}]


def on_task(method: str, change: Any) -> Edit:
    """Return an edit of the tasks that a method returns."""

    def edit(given: Given) -> Given:
        body = given.json
        found = body.get("result")
        if isinstance(found, dict):
            change(found.get("task", found))
        return given.of(body)

    return on_method(method, edit)


def said(role: str) -> Any:
    """Return a change of an answer into a message."""
    message = {"messageId": "m", "role": role, "parts": [{"text": "Hi."}]}
    return result({"message": message})


def only_if(method: str, is_asked: Any, change: Any) -> Edit:
    """Return an edit of the responses to calls with matching params."""

    def edit(asked: Asked, given: Given) -> Given:
        is_so = asked.method == method and is_asked(asked.body["params"])
        return change(given) if is_so else given

    return edit


def _names_agents(task: Any) -> None:
    inner = {"agent": "inner", "task_id": "t1", "state": "completed"}
    task["metadata"] = {"a2a_adapters.bill": {"models": {}, "delegates": [inner]}}


def _message(params: Any) -> dict[str, Any]:
    return params["message"]


def _of_another(events: list[Any]) -> list[Any]:
    for event in events[1:2]:
        for body in event.values():
            body["taskId"] = "another"
    return events


def _appended(events: list[Any]) -> list[Any]:
    for event in events:
        if update := event.get("artifactUpdate"):
            update["append"] = True
    return events


def _state(state: str) -> Any:
    return lambda task: task["status"].update(state=state)


ANSWER_SEEDS = [
    Seed("inner agents are named", "send.inner-agents", on_task("SendMessage", _names_agents)),
    Seed("an empty answer", "send.answers", on_method("SendMessage", result({}))),
    Seed("a task without id", "send.type", on_task("SendMessage", lambda task: task.pop("id"))),
    Seed("history as text", "send.type", on_task("SendMessage", lambda t: t.update(history="x"))),
    Seed("a state of 0.3", "send.state", on_task("SendMessage", _state("completed"))),
    Seed("the user's role", "send.role", on_method("SendMessage", said("ROLE_USER"))),
    Seed(
        "a time without zone",
        "send.timestamp",
        on_task("SendMessage", lambda t: t["status"].update(timestamp="2026-11-22T10:00:00")),
    ),
    Seed(
        "a message over one binding only",
        "send.equal",
        on_method("SendMessage", said("ROLE_AGENT")),
    ),
    Seed(
        "a message without parts",
        "send.no-parts",
        only_if("SendMessage", lambda p: not _message(p)["parts"], said("ROLE_AGENT")),
    ),
    Seed(
        "a task with a client's id",
        "send.unknown-task",
        only_if("SendMessage", lambda p: "taskId" in _message(p), said("ROLE_AGENT")),
    ),
    Seed(
        "any file",
        "send.media-type",
        only_if("SendMessage", lambda p: "raw" in str(_message(p)["parts"]), said("ROLE_AGENT")),
    ),
    Seed(
        "a required extension that is not enforced",
        "send.extension",
        put("capabilities/extensions", REQUIRED),
    ),
]

STREAM_SEEDS = [
    Seed("no streams", "stream.answers", on_method("SendStreamingMessage", error(-32004))),
    Seed(
        "a page instead of a stream",
        "stream.answers",
        on_method("SendStreamingMessage", result({})),
    ),
    Seed(
        "an empty event",
        "stream.event",
        on_events("SendStreamingMessage", lambda events: [*events[:1], {}, *events[1:]]),
    ),
    Seed(
        "an event with two objects",
        "stream.event",
        on_events("SendStreamingMessage", lambda e: [*e[:-1], {**e[0], **e[-1]}]),
    ),
    Seed("no task first", "stream.first", on_events("SendStreamingMessage", lambda e: e[1:])),
    Seed("an event of another task", "stream.ids", on_events("SendStreamingMessage", _of_another)),
    Seed(
        "an append to a missing artifact",
        "stream.append",
        on_events("SendStreamingMessage", _appended),
    ),
    Seed("no end", "stream.end", on_events("SendStreamingMessage", lambda e: e[:-1])),
    Seed(
        "a task that still works", "stream.stored", on_task("GetTask", _state("TASK_STATE_WORKING"))
    ),
]

TASK_SEEDS = [
    Seed("an empty list", "task.listed", on_method("ListTasks", result({"tasks": []}))),
    Seed(
        "an unwanted history",
        "task.history-length",
        on_task("GetTask", lambda t: t.update(history=[{"messageId": "m"}])),
    ),
    Seed("cancelling a completed task", "task.ended-cancel", on_method("CancelTask", result({}))),
    Seed(
        "a subscription to a completed task",
        "task.ended-subscribe",
        on_method("SubscribeToTask", lambda g: result({})(g) if b"error" in g.content else g),
        edits_subscriptions=True,
    ),
    Seed(
        "a task that keeps running",
        "task.cancel",
        on_task("CancelTask", _state("TASK_STATE_WORKING")),
    ),
    Seed("calls inside the network", "push.inside", lambda _, given: given, app=pushing_anywhere),
]

SENDING_SEEDS = [*ANSWER_SEEDS, *STREAM_SEEDS, *TASK_SEEDS]
