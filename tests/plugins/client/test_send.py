"""`a2a-adapters send` (a2a-cli 0.2)."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys

import pytest
from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from a2a_adapters.testing import running
from tests.calling.test_sloppy_agents import Sloppy, enveloped, task
from tests.support.servers.guarded import api_key, bearer
from tests.support.servers.told import FORMS, Told
from tests.support.terminal import on_terminal

pytestmark = [pytest.mark.timeout(5 * 60), pytest.mark.asyncio(loop_scope="module")]


def field(done, label):
    return next(
        line.partition(": ")[2] for line in done.stdout.splitlines() if line.startswith(label)
    )


async def test_without_a_terminal_only_the_answer_is_printed(url, run, tmp_path):
    done = await run("send", url, "draw Rome")
    text, _, data = done.stdout.partition("\n")
    assert text == "It rains in draw Rome\\x1b[2J."
    assert json.loads(data) == {"degrees": 8}
    assert "file ../../../sky.png, image/png, 2 bytes\n" in done.stderr
    saved = await run("send", url, "draw Rome", "-q", "--save", "files")
    assert saved.stdout == done.stdout
    assert saved.stderr == "saved files/sky.png\n"
    assert (tmp_path / "files" / "sky.png").read_bytes() == b"12"


async def test_the_task_is_printed_in_fields_and_blocks(url, run):
    done = await run("send", url, "draw Rome", "--verbose")
    assert done.returncode == 0
    assert field(done, "State") == "TASK_STATE_COMPLETED"
    assert "\nArtifact: answer\nText:\nIt rains in draw Rome\\x1b[2J.\n\n" in done.stdout
    assert "\nFile: ../../../sky.png, image/png, 2 bytes\n" in done.stdout
    assert '\nData:\n{\n  "degrees": 8\n}\n\n' in done.stdout
    assert f"task {field(done, 'Task')}" in done.stderr


async def test_json_is_one_document(url, run_json):
    task = (await run_json("send", url, "Rome"))["task"]
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert task["artifacts"][0]["parts"] == [{"text": "It rains in Rome\x1b[2J."}]


@pytest.mark.parametrize("transport", ["jsonrpc", "http+json"])
async def test_streams_are_lines(url, run, transport):
    done = await run("send", "-a", url, "Rome", "--stream", "-o", "json", "--transport", transport)
    first, *_, last = map(json.loads, done.stdout.splitlines())
    assert first["task"]["id"] == last["statusUpdate"]["taskId"]
    assert last["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_a_variable_names_several_transports(url, run):
    done = await run("send", url, "Rome", "--debug", A2ACLI_TRANSPORT="grpc HTTP+JSON jsonrpc")
    assert "It rains" in done.stdout
    assert "/message:stream" in done.stderr


async def test_a_stream_as_text_ends_with_the_state(url, run):
    done = await run("send", url, "Rome", "--stream", "--verbose")
    assert "\nState: TASK_STATE_COMPLETED\n" in done.stdout.rpartition("Artifact")[2]
    assert "Text:\nIt rains \n\n" in done.stdout


async def test_a_question_prints_the_command_to_answer_it(url, run):
    asked = await run("send", url, "ask me")
    assert asked.returncode == 7
    assert asked.stdout == "Where?\n"
    hint = asked.stderr.split("answer: a2a-adapters ")[1].replace('"..."', "Bergen").split()
    answered = await run(*hint)
    assert answered.stdout == "It rains in Bergen\\x1b[2J.\n"
    again = await run(*hint, "-o", "json")
    assert (again.returncode, "error" in json.loads(again.stdout)) == (1, True)


@pytest.mark.parametrize(("text", "state"), [("refuse", "REJECTED"), ("fail", "FAILED")])
async def test_a_task_without_an_answer_is_explained(url, run, text, state):
    done = await run("send", url, text)
    assert (done.returncode, done.stdout) == (6, "")
    assert f"(TASK_STATE_{state})" in done.stderr
    assert "secret" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "code"), [("Rome", 0), ("refuse", 6), ("fail", 6), ("ask", 7), ("draw", 0)]
)
async def test_the_exit_code_is_the_outcome_of_the_task(url, run, text, code):
    done = await run("send", url, text, "-o", "json")
    assert done.returncode == code
    assert (await run("send", url, text, "--no-fail")).returncode == 0
    assert (await run("send", url, text, A2ACLI_FAIL="0")).returncode == 0
    task = json.loads(done.stdout)["task"]["id"]
    assert (await run("task", "get", url, task)).returncode == 0
    assert (await run("task", "get", url, task, "--wait")).returncode == code
    assert (await run("task", "get", url, task, "--wait", "--no-fail")).returncode == 0


async def test_a_terminal_shows_the_answer_as_it_arrives(url):
    def talk():
        with on_terminal("send", url, "endless", columns=80) as shown:
            shown.said("task [0-9a-f-]+")
            shown.said("It ")
        with on_terminal("send", url, "draw Rome", columns=80) as shown:
            answer = shown.ended()
        with on_terminal("send", url, "Rome", "-q", columns=80) as shown:
            assert shown.ended() == "It rains in Rome\\x1b[2J.\n"
        return answer

    answer = await asyncio.to_thread(talk)
    assert re.search(r"It rains in draw Rome\S+\n\{\n", answer)
    assert answer.endswith("State: TASK_STATE_COMPLETED\n")
    assert "Text:" not in answer


async def test_async_prints_the_ids(url, run, run_json):
    task = (await run_json("send", url, "endless", "--async"))["task"]
    assert task["contextId"]
    late = await run("task", "get", url, task["id"], "--wait", "--timeout", "200ms")
    assert late.returncode == 5
    cancelled = await run_json("task", "cancel", url, task["id"])
    assert cancelled["status"]["state"] == "TASK_STATE_CANCELED"


async def test_a_timeout_names_the_task(url, run_json):
    error = (await run_json("send", url, "endless", "--timeout", "5s"))["error"]
    assert error["code"] == "A2ACLI_ERR_TIMEOUT"
    task_id = error["hint"].split("task get ")[1].split()[0]
    task = await run_json("task", "get", url, task_id)
    assert task["status"]["state"] == "TASK_STATE_WORKING"


async def test_ctrl_c_prints_the_command_to_resume(url, run):
    command = [sys.executable, "-m", "a2a_adapters", "send", url, "endless"]
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    first = await process.stderr.readline()
    process.send_signal(signal.SIGINT)
    output = (await process.stderr.read()).decode()
    assert await process.wait() == 130
    task_id = first.decode().split()[1]
    assert f"the task is still running: a2a-adapters task get {task_id} --wait -a {url}" in output
    end = output.split("cancel it: a2a-adapters ")[1].split()
    assert "TASK_STATE_CANCELED" in (await run(*end)).stdout


async def test_parts_keep_their_order_and_types(server, run_json, tmp_path):
    (tmp_path / "a.bin").write_bytes(b"1")
    (tmp_path / "b.json").write_text('{"b": 1}')
    task = (
        await run_json(
            *["send", f"{server}/agents/parts", "--data", "b.json", "--text", "one"],
            *["--file", "a.bin", "--media-type", "image/png", "--text", "two", "--data", "[2]"],
            *["--file", "https://files.example.org/a.pdf"],
        )
    )["task"]
    assert task["artifacts"][0]["parts"][0]["data"] == [
        ["Data", ""],
        ["Text", ""],
        ["File", "image/png"],
        ["Text", ""],
        ["Data", ""],
        ["File", "application/pdf"],
    ]


async def test_standard_input_is_sent(url, run):
    for arguments in ([url], [url, "-"]):
        assert "It rains in Oslo" in (await run("send", *arguments, text="Oslo")).stdout


@pytest.mark.parametrize(
    ("arguments", "code", "name"),
    [
        (["{url}"], 2, "A2ACLI_ERR_USAGE"),
        (["{url}", ""], 2, "A2ACLI_ERR_USAGE"),
        (["{url}", "--text", " "], 2, "A2ACLI_ERR_USAGE"),
        (["{url}", "x", "y"], 2, "A2ACLI_ERR_USAGE"),
        (["{url}", "x", "--nonsense"], 2, "A2ACLI_ERR_USAGE"),
        (["{url}", "x", "--timeout", "soon"], 2, "A2ACLI_ERR_USAGE"),
        (["{url}", "--media-type", "a/b", "--text", "x"], 2, "A2ACLI_ERR_USAGE"),
        (["{url}", "--file", "nowhere"], 2, "A2ACLI_ERR_USAGE"),
        (["{url}", "--data", "{"], 2, "A2ACLI_ERR_USAGE"),
        (["{url}", "x", "--metadata", "[]"], 2, "A2ACLI_ERR_USAGE"),
        (["{url}", "x", "--transport", "smoke"], 2, "A2ACLI_ERR_USAGE"),
        (["{url}", "x", "--config", "nowhere"], 2, "A2ACLI_ERR_USAGE"),
        (["{url}", "\udcff"], 2, "A2ACLI_ERR_USAGE"),
        (["{url}", "x", "--task-id", "unknown"], 1, "TaskNotFoundError"),
        (["./current.json", "x", "--a2a-version", "0.3"], 1, "VersionNotSupportedError"),
        (["{url}nothing", "x"], 3, "A2ACLI_ERR_CARD_NOT_FOUND"),
        (["./nowhere.json", "x"], 3, "A2ACLI_ERR_CARD_NOT_FOUND"),
        (["./no-card.json", "x"], 1, "A2ACLI_ERR_CARD_INVALID"),
        (["http://127.0.0.1:9", "x"], 3, "A2ACLI_ERR_UNREACHABLE"),
    ],
)
async def test_errors_are_documents(url, run, tmp_path, arguments, code, name):
    (tmp_path / "no-card.json").write_text("[1]")
    interface = {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    current = {"name": "x", "supportedInterfaces": [interface]}
    (tmp_path / "current.json").write_text(json.dumps(current))
    given = [argument.replace("{url}", url) for argument in arguments]
    done = await run("send", *given, "-o", "json")
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (code, name)
    assert (await run("send", *given)).returncode == code


@pytest.mark.parametrize(
    ("option", "value", "output"),
    [
        ("--transport", "htp", "did you mean http+json?"),
        ("--transport", "smoke", "there are jsonrpc, http+json, grpc"),
        ("--a2a-version", "7", "there are 1.0, 0.3"),
    ],
)
async def test_unsupported_values_are_refused_before_any_request(run, option, value, output):
    variable = "A2ACLI_" + option.removeprefix("--").replace("-", "_").upper()
    for done in (
        await run("send", "http://127.0.0.1:9", "x", option, value),
        await run("send", "http://127.0.0.1:9", "x", **{variable: value}),
    ):
        assert (done.returncode, output in done.stderr) == (2, True)


@pytest.mark.parametrize("version", ["1", "1.0", "1.0.1", "0.3", "0.3.0"])
async def test_versions_have_aliases(url, run, version):
    assert "It rains" in (await run("send", url, "Rome", "--a2a-version", version)).stdout


@pytest.mark.parametrize("version", ["0.3", "0.3.0"])
async def test_older_agents_need_no_option(url, run, run_json, tmp_path, version):
    interface = {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": version}
    card = {"name": "x", "capabilities": {"streaming": True}, "supportedInterfaces": [interface]}
    (tmp_path / "old.json").write_text(json.dumps(card))
    sent = await run("send", "./old.json", "Rome", "--verbose")
    assert (sent.returncode, "It rains in Rome" in sent.stdout) == (0, True)
    got = await run_json("task", "get", "-a", "./old.json", field(sent, "Task"))
    assert got["status"]["state"] == "TASK_STATE_COMPLETED"
    refused = await run("send", "./old.json", "Rome", "--a2a-version", "1.0")
    assert "supports A2A 0.3" in refused.stderr


async def test_skipped_verification_is_warned_of_once(url, run):
    done = await run("send", url, "Rome", "--insecure")
    assert done.stderr.count("WARNING") == 1


async def test_credentials_are_sent_as_the_card_requires(run, run_json):
    async with running(api_key("s3cret", header="X-Secret")) as url:
        assert "pong" in (await run("send", url, "ping", A2ACLI_API_KEY="s3cret")).stdout
        missing = await run("send", url, "ping", "-o", "json")
        wrong = await run("send", url, "ping", "-o", "json", "--api-key", "wrong", "--debug")
    assert missing.returncode == wrong.returncode == 4
    assert json.loads(missing.stdout)["error"]["code"] == "A2ACLI_ERR_CREDENTIALS_MISSING"
    assert json.loads(wrong.stdout)["error"]["code"] == "A2ACLI_ERR_AUTH_FAILED"
    assert "> POST" in wrong.stderr
    assert "wrong" not in wrong.stderr


@pytest.mark.parametrize("card_too", [True, False])
async def test_bearer_tokens(run, card_too):
    async with running(bearer("s3cret", card_too=card_too)) as url:
        done = await run("send", url, "ping", "--debug", A2ACLI_BEARER="s3cret")
    assert "pong" in done.stdout
    assert "s3cret" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "form",
    [
        "a snapshot",
        "a snapshot and the end",
        "a snapshot, an artifact and the end",
        "a message between updates",
        "a message at the end",
    ],
)
async def test_the_answer_to_a_question_is_that_of_the_task(run, form):
    async with Told(FORMS[form]).app("JSONRPC", "1.0") as app, running(app) as url:
        asked = await run("send", url, "book")
        assert asked.stdout == "Which city?\n"
        answered = await run("send", "--continue", "Rome")
        assert (answered.stdout, answered.returncode) == ("booked\n", 0)


async def test_a_corrected_answer_is_printed_alone_unless_it_is_streamed(run):
    async with (
        Told(FORMS["a corrected artifact"]).app("JSONRPC", "1.0") as app,
        running(app) as url,
    ):
        await run("send", url, "book")
        answered = await run("send", "--continue", "Rome")
        await run("send", url, "book")
        streamed = await run("send", "--continue", "Rome", "--stream")
    assert answered.stdout == "booked\n"
    assert streamed.stdout == "raw\nbooked\nbooked\n"
    assert "corrected its answer" in streamed.stderr


async def test_an_agent_that_refuses_streams_is_asked_without(run):
    def answer(call):
        if call["method"] == "SendStreamingMessage":
            error = {"code": -32004, "message": "no streams"}
            return JSONResponse({"jsonrpc": "2.0", "id": call["id"], "error": error})
        return JSONResponse(enveloped(call, [task("1.0")])[0])

    async with running(Sloppy(answer).app) as url:
        done = await run("send", url, "ping", "-q")
    assert (done.stdout, done.returncode) == ("pong\n", 0)


async def test_streams_can_be_avoided(run):
    server = Sloppy(lambda call: JSONResponse(enveloped(call, [task("1.0")])[0]))
    async with running(server.app) as url:
        for command, more in (
            (("send", url, "ping", "-q", "--no-stream"), {}),
            (("send", url, "ping", "-q", "--transport", "jsonrpc"), {"A2ACLI_NO_STREAM": "1"}),
            (("chat", url, "--no-stream"), {"text": "ping\n"}),
        ):
            done = await run(*command, **more)
            assert ("pong" in done.stdout, done.returncode) == (True, 0), done
    assert set(server.methods) == {"SendMessage"}


@pytest.mark.parametrize(
    ("variables", "header", "value"),
    [
        ({"A2ACLI_BEARER": "s3cret"}, "authorization", "Bearer s3cret"),
        ({"A2ACLI_API_KEY": "s3cret"}, "x-api-key", "s3cret"),
    ],
)
async def test_typed_credentials_are_sent_from_the_first_request(run, variables, header, value):
    seen = []
    server = Sloppy(lambda call: JSONResponse(enveloped(call, [task("1.0")])[0]), streaming=False)

    async def guarded(scope, receive, send):
        if scope["type"] == "http":
            seen.append(Headers(scope=scope).get(header))
            if seen[-1] != value:  # without a challenge
                await JSONResponse({"error": "who?"}, 500)(scope, receive, send)
                return
        await server.app(scope, receive, send)

    async with running(guarded) as url:
        done = await run("send", url, "ping", "-q", **variables)
    assert (done.stdout, set(seen)) == ("pong\n", {value})


async def test_a_private_host_of_a_card_is_allowed_by_an_option(run):
    server = Sloppy(lambda call: JSONResponse(enveloped(call, [task("1.0")])[0]), streaming=False)

    async def elsewhere(scope, receive, send):
        headers = Headers(scope=scope)
        if scope["type"] == "http" and scope["method"] == "GET":
            named = [(b"host", b"10.255.255.1:" + headers["host"].rpartition(":")[2].encode())]
            scope = {**scope, "headers": named}
        await server.app(scope, receive, send)

    async with running(elsewhere) as url:
        done = await run("send", url, "ping", "-q")
    assert "--allow-host 10.255.255.1" in done.stderr
    assert "OutboundPolicy" not in done.stderr
