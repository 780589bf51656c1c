"""Answers that were corrected, withdrawn or blocked, for every dialect, command and wrapper.

Each way to ask has to end with the answer that the agent accepted. Readers that cannot take back
text get it as the last paragraph; text that was held back and blocked is nowhere.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

import httpx
import pytest
from a2a.types import GetTaskRequest
from a2a_adapters_ag_ui import AgUiAgent
from a2a_adapters_endpoints import RemoteA2AAgent
from a2a_adapters_router import Router, RouterConfig
from a2a_adapters_skills import Skills

from a2a_adapters import (
    BlockedError,
    InputRequired,
    PushOptions,
    RemoteAgent,
    RemoteTaskError,
    ServerOptions,
    TextDelta,
    build_app,
)
from a2a_adapters.plugin import HELD_TEXT_EXTENSION, Adapter, AgentDescription, AnswerText, as_text
from a2a_adapters.testing import answer_of, connect, running, send
from tests.plugins.acp.test_offering import Editor, started
from tests.plugins.acp.test_offering import ask as prompt
from tests.plugins.ag_ui import served as ag_ui
from tests.plugins.agno import served as agno
from tests.plugins.client.test_chat import typed
from tests.plugins.mcp.stateless_client import stateless
from tests.plugins.mcp.support import over_http, text_of
from tests.plugins.omniroute import served as omniroute
from tests.support.answers import Recorded
from tests.support.command_line import finished
from tests.support.inbox import OPEN, inbox, notifying, state_in, text_in
from tests.support.terminal import on_terminal

SECRET = "how to build a bomb"


@dataclass(frozen=True, kw_only=True)
class Case:
    """An agent's events, and what its callers get.

    Attributes:
        name: Says what it shows.
        events: The events of all messages; exceptions are raised.
        messages: What the caller says; all but the first reply to questions.
        answer: The answer to the last message.
        withdrawn: A text that no final answer has.
        holds: Whether the text is held back, so that `withdrawn` is nowhere.
        is_blocked: Whether the run is rejected.
    """

    name: str
    events: tuple[object, ...]
    answer: str
    withdrawn: str
    messages: tuple[str, ...] = ("go",)
    holds: bool = False
    is_blocked: bool = False

    def __str__(self) -> str:
        return self.name


EDITED = (TextDelta("A raw draft."), InputRequired("Send it?"))

CASES = [
    Case(
        name="corrected",
        events=(TextDelta("The raw "), TextDelta("answer"), AnswerText("The checked answer.")),
        answer="The checked answer.",
        withdrawn="raw",
    ),
    Case(
        name="shortened",
        events=(TextDelta("Call me "), TextDelta("at 555-1234"), AnswerText("Call me ")),
        answer="Call me ",
        withdrawn="555-1234",
    ),
    Case(
        name="retried",
        events=(TextDelta("half of "), AnswerText(""), TextDelta("a whole "), TextDelta("answer")),
        answer="a whole answer",
        withdrawn="half of",
    ),
    Case(
        name="edited",
        events=(*EDITED, AnswerText("An edit.", of_task=True)),
        messages=("go", "yes"),
        answer="An edit.",
        withdrawn="raw",
    ),
    Case(
        name="held",
        events=(TextDelta(SECRET), AnswerText("I cannot help.")),
        answer="I cannot help.",
        withdrawn=SECRET,
        holds=True,
    ),
    Case(
        name="blocked",
        events=(TextDelta(SECRET), BlockedError()),
        answer="",
        withdrawn=SECRET,
        holds=True,
        is_blocked=True,
    ),
    Case(
        name="blocked_late",
        events=(TextDelta(SECRET), BlockedError()),
        answer="",
        withdrawn=SECRET,
        is_blocked=True,
    ),
]


class Scripted(Adapter):
    """Does what a case says."""

    def __init__(self, case):
        self._events = case.events
        self.holds_text = case.holds

    def describe(self):
        return AgentDescription(name="program", description="Does what the test says.")

    async def stream(self, request):
        for event in self._events:
            if isinstance(event, Exception):
                raise event from ValueError(SECRET)
            yield event


class Got(NamedTuple):
    """What a caller has at last: the answer, or the reason why there is none."""

    answer: str = ""
    reason: str = ""


Way = Callable[[str, tuple[str, ...]], Awaitable[Got]]

ENDED = {"TASK_STATE_COMPLETED", "TASK_STATE_REJECTED"}

DIALECTS = ["openai", "ag-ui", "agno", "omniroute", "mcp"]


@asynccontextmanager
async def calling(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=url, timeout=60) as http:
        yield http


def frames(response):
    found = [line.removeprefix("data: ") for line in response.text.splitlines()]
    return [json.loads(line) for line in found if line.startswith("{")]


async def chat(url, messages, *, stream=False):
    said = []
    async with calling(url) as http:
        for text in messages:
            said.append({"role": "user", "content": text})
            body = {"model": "program", "messages": said, "stream": stream}
            response = await http.post("/v1/chat/completions", json=body)
            events = frames(response) if stream else [response.json()]
            if error := events[-1].get("error"):
                return Got(reason=error["message"])
            if stream:
                deltas = [event["choices"][0]["delta"] for event in events]
                answer = "".join(delta.get("content", "") for delta in deltas)
            else:
                answer = events[0]["choices"][0]["message"]["content"]
            said.append({"role": "assistant", "content": answer})
    return Got(answer)


async def chat_streamed(url, messages):
    return await chat(url, messages, stream=True)


def response_text(response):
    return "".join(
        part["text"]
        for item in response["output"]
        if item["type"] == "message"
        for part in item["content"]
    )


async def responses(url, messages, *, stream=False, stored=False, **more):
    previous = None
    async with calling(url) as http:
        for text in messages:
            body = {"model": "program", "input": text, "stream": stream, **more}
            if previous:
                body["previous_response_id"] = previous
            given = await http.post("/v1/responses", json=body)
            if stream:
                events = frames(given)
                response = events[-1]["response"]
                done = [e["text"] for e in events if e["type"] == "response.output_text.done"]
                assert not done or done == [response_text(response)]
            else:
                response = given.json()
            while response.get("status") in {"queued", "in_progress"}:
                response = (await http.get(f"/v1/responses/{response['id']}")).json()
            if error := response.get("error"):
                return Got(reason=error["message"])
            previous = response["id"]
        if stored:
            response = (await http.get(f"/v1/responses/{previous}")).json()
    return Got(response_text(response))


async def responses_streamed(url, messages):
    return await responses(url, messages, stream=True)


async def responses_stored(url, messages):
    return await responses(url, messages, stored=True)


async def responses_in_background(url, messages):
    return await responses(url, messages, background=True)


async def responses_resumed(url, messages):
    """Read a stored response on from the last character of what was withdrawn."""
    async with calling(url) as http:
        body = {"model": "program", "input": messages[0], "background": True}
        given = (await http.post("/v1/responses", json=body)).json()
        while given["status"] in {"queued", "in_progress"}:
            given = (await http.get(f"/v1/responses/{given['id']}")).json()
        path = f"/v1/responses/{given['id']}?stream=true&starting_after=40000"
        events = frames(await http.get(path))
    response = events[-1]["response"]
    if error := response.get("error"):
        return Got(reason=error["message"])
    return Got(response_text(response))


async def front_end(url, messages):
    """Show the messages of AG-UI as a front end does, and return those after the last question."""
    shown, resume = {}, {}
    async with calling(url) as http:
        for text in messages:
            said = [] if resume else [ag_ui.user(text)]
            shown |= {each["id"]: each for each in said}
            heard = await ag_ui.run(http, *shown.values(), **resume)
            before = set(shown)
            for event in heard.events:
                match event:
                    case {"type": "TEXT_MESSAGE_START", "messageId": name}:
                        shown[name] = {"id": name, "role": "assistant", "content": ""}
                    case {"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": delta}:
                        shown[name]["content"] += delta
                    case {"type": "MESSAGES_SNAPSHOT", "messages": whole}:
                        shown = {each["id"]: each for each in whole}
            if heard.last["type"] == "RUN_ERROR":
                reason = heard.last["message"]
                assert not [each for each in shown.values() if each["role"] == "assistant"]
                return Got(reason=reason)
            if heard.last["outcome"]["type"] == "interrupt":
                resume = {"resume": ag_ui.resuming(heard.interrupt, "yes")}
    new = [each["content"] for name, each in shown.items() if name not in before]
    assert not [each for each in shown.values() if "raw" in each["content"]]
    return Got("\n".join(new))


AGNO = "/a2a/agents/program"


def spoken(task):
    texts = [part["text"] for part in task["history"][-1]["parts"]]
    return "\n".join(texts)


async def agno_sent(url, messages, *, stream=False, asks=False):
    ids = {}
    async with calling(url) as http:
        for text in messages:
            method = "message/stream" if stream else "message/send"
            path = f"{AGNO}/v1/{method.replace('/', ':')}"
            response = await http.post(path, json=agno.call(text, method, **ids))
            body = agno.events(response)[-1][1] if stream else response.json()
            task = body["result"]
            ids = {"taskId": task["id"], "contextId": task["contextId"]}
        if asks:
            params = {"id": task["id"], "contextId": task["contextId"]}
            body = {"jsonrpc": "2.0", "id": "r", "method": "tasks/get", "params": params}
            task = (await http.post(f"{AGNO}/v1/tasks:get", json=body)).json()["result"]
    if task["status"]["state"] == "rejected":
        return Got(reason=spoken(task))
    return Got(spoken(task))


async def agno_streamed(url, messages):
    return await agno_sent(url, messages, stream=True)


async def agno_asked(url, messages):
    return await agno_sent(url, messages, asks=True)


async def agno_go(url, messages, *, stream=False):
    ids = {"agentId": "program"}
    async with calling(url) as http:
        for text in messages:
            method = "message/stream" if stream else "message/send"
            response = await http.post(f"/a2a/{method}", json=agno.call(text, method, **ids))
            body = frames(response)[-1] if stream else response.json()
            if error := body.get("error"):
                return Got(reason=error["message"])
            task = body if stream else body["result"]["task"]
            said = task["message"] if stream else task["history"][-1]
            ids["contextId"] = said["contextId"]
            ids["taskId"] = task.get("taskId") or task["id"]
    return Got("\n".join(part["text"] for part in said["parts"]))


async def agno_go_streamed(url, messages):
    return await agno_go(url, messages, stream=True)


async def gateway(url, messages, *, stream=False, stored=False):
    [text] = messages
    async with calling(url) as http:
        if stream:
            events, _ = await omniroute.events(http, omniroute.asking(text, "message/stream"))
            *chunks, last = events
            if last["task"]["state"] == "failed":
                return Got(reason=last["metadata"]["error"])
            return Got("".join(each["chunk"]["content"] for each in chunks))
        body = (await http.post("/a2a", json=omniroute.asking(text))).json()
        if "error" in body:
            return Got(reason=body["error"]["message"])
        found = body["result"]
        if stored:
            task_id = found["task"]["id"]
            found = await omniroute.result(http, omniroute.body("tasks/get", taskId=task_id))
            found = found["task"]
    return Got("".join(each["content"] for each in found["artifacts"]))


async def gateway_streamed(url, messages):
    return await gateway(url, messages, stream=True)


async def gateway_stored(url, messages):
    return await gateway(url, messages, stored=True)


async def tool(url, messages):
    arguments = {}
    async with over_http(url) as session:
        for text in messages:
            result = await session.call_tool("program", {"message": text, **arguments})
            if result.isError:
                return Got(reason=text_of(result))
            meta = result.meta or {}
            arguments["task_id"] = meta["a2a-adapters/taskId"]
    return Got(text_of(result))


async def tool_without_session(url, messages):
    arguments = {}
    async with stateless(url) as client:
        for text in messages:
            result = await client.call("program", {"message": text, **arguments})
            texts = [each["text"] for each in result["content"] if "annotations" not in each]
            if result.get("isError"):
                return Got(reason="\n".join(texts))
            arguments["task_id"] = result["_meta"]["a2a-adapters/taskId"]
    return Got("\n".join(texts))


async def sent_command(url, messages, *options, again=lambda out: out.stdout):
    task = []
    for text in messages:
        done = await asyncio.to_thread(finished, "send", url, text, *task, *options)
        if "REJECTED" in done.stderr:
            return Got(reason=done.stdout + done.stderr)
        if "answer: " in done.stderr:
            words = done.stderr.partition("answer: ")[2].split()
            task = ["--task-id", words[words.index("--task-id") + 1]]
    return Got(again(done).removesuffix("\n"))


async def sent_as_json(url, messages):
    def text(done):
        task = json.loads(done.stdout)["task"]
        [*texts] = ["".join(p["text"] for p in each["parts"]) for each in task["artifacts"]]
        return "\n".join(texts)

    return await sent_command(url, messages, "-o", "json", again=text)


async def chat_command(url, messages):
    done = await typed(*messages, arguments=[url])
    if done.returncode:
        assert not done.stdout
        return Got(reason=done.stderr)
    *_, last = done.stdout.removesuffix("\n").split("Send it?\n")
    return Got(last)


WAYS: dict[str, Way] = {
    "chat completions": chat,
    "responses": responses,
    "responses, streamed": responses_streamed,
    "responses, stored": responses_stored,
    "responses in the background": responses_in_background,
    "responses, resumed": responses_resumed,
    "AG-UI": front_end,
    "Agno": agno_sent,
    "Agno, streamed": agno_streamed,
    "Agno, tasks/get": agno_asked,
    "Agno-Go": agno_go,
    "Agno-Go, streamed": agno_go_streamed,
    "OmniRoute": gateway,
    "OmniRoute, tasks/get": gateway_stored,
    "MCP": tool,
    "MCP without sessions": tool_without_session,
    "send": sent_command,
    "send, as JSON": sent_as_json,
    "chat, piped": chat_command,
}

APPENDING: dict[str, Way] = {
    "chat completions, streamed": chat_streamed,
    "OmniRoute, streamed": gateway_streamed,
}
"""The ways whose readers cannot take back text."""

SINGLE = (gateway, gateway_streamed, gateway_stored, responses_resumed)
"""The ways without questions."""


@asynccontextmanager
async def sent_by(target, case, caplog, **options):
    """Serve a target in all dialects; search what was held back in all that leaves the server."""
    caplog.set_level(logging.DEBUG, "a2a_adapters")
    options = ServerOptions(**options)
    app = Recorded(build_app(target, name="program", dialects=DIALECTS, options=options))
    async with running(app) as url:
        yield url
    if case.holds and options.hold_text != "never":
        assert case.withdrawn.encode() not in app.sent
        assert case.withdrawn not in caplog.text


def served(case, caplog, **options):
    return sent_by(Scripted(case), case, caplog, **options)


@pytest.mark.parametrize("way", [*WAYS, *APPENDING])
@pytest.mark.parametrize("case", CASES, ids=str)
async def test_every_way_ends_with_the_accepted_answer(case, way, caplog):
    ask = WAYS.get(way) or APPENDING[way]
    if ask in SINGLE and len(case.messages) > 1:
        return
    async with served(case, caplog) as url:
        got = await ask(url, case.messages)
    if case.is_blocked:
        assert "A guardrail of the agent blocked the run." in got.reason
        assert case.withdrawn not in f"{got}"
    elif way in WAYS or case.holds or len(case.messages) > 1:
        assert got.answer == case.answer
    else:
        before, _, last = got.answer.rpartition("\n")
        assert last == case.answer
        assert case.withdrawn in before


def _front_end(url, _case):
    return AgUiAgent(f"{url}/ag-ui")


def _router(url, _case):
    deployment = {"model_name": "program", "agent": url, "price": {"input": 0}}
    return Router(RouterConfig(deployments=[deployment]))


def _skills(_url, case):
    return Skills({"program": Scripted(case)}, "skills", "Has a skill.", default="program")


WRAPPERS = {
    "remote": lambda url, _case: RemoteA2AAgent(url),
    "skills": _skills,
    "AG-UI": _front_end,
    "router": _router,
    "Agno": lambda url, _case: RemoteA2AAgent(f"{url}{AGNO}"),
}


async def _reply(agent, text, context_id, task_id):
    try:
        return await agent.send(text, context_id=context_id, task_id=task_id)
    except RemoteTaskError as error:
        return error.reply


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("case", CASES, ids=str)
async def test_wrappers_pass_corrections_on(case, wrapper, caplog):
    if wrapper in {"router", "AG-UI"} and len(case.messages) > 1:
        return  # routers have no questions, and runs of AG-UI do not change earlier ones
    async with (
        served(case, caplog) as far,
        sent_by(WRAPPERS[wrapper](far, case), case, caplog) as url,
        RemoteAgent(url) as agent,
    ):
        context_id = task_id = ""
        for text in case.messages:
            reply = await _reply(agent, text, context_id, task_id)
            context_id, task_id = reply.context_id, reply.task_id
        stored = await agent.get_task(task_id)
    if case.is_blocked:
        assert reply.state == "rejected"
        assert "A guardrail of the agent blocked the run." in as_text(reply.status_parts)
    else:
        assert reply.text == case.answer
    assert case.withdrawn not in f"{stored}"
    assert "".join(each.text for a in stored.artifacts for each in a.parts) == case.answer


@pytest.mark.parametrize("case", [each for each in CASES if each.holds], ids=str)
async def test_the_text_of_a_remote_agent_is_held_back_where_it_does_not_do_so(case, caplog):
    async with (
        served(case, caplog, hold_text="never") as far,
        sent_by(RemoteA2AAgent(far), case, caplog) as url,
        RemoteAgent(url) as agent,
    ):
        reply = await _reply(agent, "go", "", "")
        card = await agent.card()
    assert reply.text == case.answer or case.is_blocked
    [extension] = [e for e in card.capabilities.extensions if e.uri == HELD_TEXT_EXTENSION]
    assert extension.params["held"] is True


@pytest.mark.parametrize("case", [each for each in CASES if len(each.messages) == 1], ids=str)
async def test_receivers_of_notifications_end_with_the_accepted_answer(case, caplog, spans):
    push = PushOptions(outbound=OPEN, pause_seconds=0.01)
    async with inbox() as box, served(case, caplog, push=push) as url, connect(url) as client:
        task = await send(client, notifying(box.url))
        await box.until(lambda bodies: state_in(bodies[-1]) in ENDED)
        stored = await client.get_task(GetTaskRequest(id=task.id))
        trace = "".join(span.to_json() for span in spans())
    assert text_in(box.bodies) == case.answer == answer_of(stored)
    assert case.withdrawn not in f"{stored}{trace}"
    assert not case.holds or case.withdrawn not in f"{box.bodies}"


async def test_terminals_show_corrections(caplog):
    async with served(CASES[0], caplog) as url:

        def shown(*options):
            with on_terminal("send", url, "go", *options) as terminal:
                return terminal.ended()

        plain = await asyncio.to_thread(shown, "-q")
        task = await asyncio.to_thread(shown, "--verbose")
        events = await asyncio.to_thread(shown, "--stream")
    assert plain.endswith("the agent corrected its answer:\nThe checked answer.\n")
    assert "The checked answer." in task
    assert "raw" not in task
    *_, last = events.split("Replaces: ")
    assert "raw" in events
    assert "The checked answer." in last
    assert "raw" not in last


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_editors_end_with_the_accepted_answer(case, caplog, tmp_path):
    editor = Editor()
    async with served(case, caplog) as url, started(url, editor, tmp_path) as connection:
        session = await connection.new_session(cwd="/", mcp_servers=[])
        for text in case.messages:
            editor.seen.clear()
            given = await prompt(connection, session.session_id, text)
        said = editor.text
        editor.seen.clear()
        await connection.load_session(cwd="/", session_id=session.session_id, mcp_servers=[])
        kept = editor.text
    if case.is_blocked:
        assert given.stop_reason == "refusal"
        assert said.endswith("A guardrail of the agent blocked the run.")
    else:
        assert said.rpartition("\n")[2] == case.answer
    stored = "".join(path.read_text() for path in tmp_path.rglob("*.json"))
    assert case.withdrawn not in kept + stored or len(case.messages) > 1
