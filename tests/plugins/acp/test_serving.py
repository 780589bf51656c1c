"""Coding agents, served: what they report, their sessions and their ends."""

from __future__ import annotations

import asyncio
import json

import pytest
from a2a.types import Part
from a2a_adapters_acp import AcpAgent
from google.protobuf.json_format import MessageToDict

from a2a_adapters import (
    ConfigurationError,
    Progress,
    ServerOptions,
    ToolCall,
    ToolResult,
    build_app,
)
from a2a_adapters.testing import answer_of, connect, running, send, stream, user_message
from tests.plugins.acp.support import (
    COMPLETED,
    FAILED,
    answered,
    asked,
    begun,
    cancel,
    is_running,
    progress,
    scripted,
    served,
)
from tests.support.postgresql import new_database


async def test_thoughts_plans_and_tools_are_progress(folder):
    thought, plan, call, result = await progress(scripted(folder), "plan")
    assert thought == Progress("thinking", {"type": "thought"})
    assert plan.text == "Plan: 1 of 2 done; change"
    assert [entry["content"] for entry in plan.data["plan"]] == ["look", "change"]
    assert call == ToolCall("t1", "Read it", {"path": "a.txt"})
    assert result == ToolResult("t1", "Read it", "found")


async def test_usage_is_in_the_metadata_of_the_task(client):
    task = await send(client, user_message("plan"))
    counted = await send(client, user_message("count"))
    usage = MessageToDict(counted.metadata)["usage"]
    assert usage == {"input_tokens": 2, "output_tokens": 4, "total_tokens": 6}
    metadata = MessageToDict(task.metadata)
    assert metadata["usage"] == {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    assert metadata["context_window"] == {"used": 10, "size": 100}


async def test_a_conversation_keeps_its_session_and_owners_have_their_own(folder):
    async with (
        running(build_app(scripted(folder))) as url,
        connect(url, user="ann") as ann,
        connect(url, user="bob") as bob,
    ):
        for client, text in ((ann, "my secret"), (bob, "hello")):
            await send(client, user_message(text, context_id="shared"))
        for client, said in ((ann, "my secret"), (bob, "hello")):
            task = await send(client, user_message("recall", context_id="shared"))
            assert answer_of(task) == said


async def test_a_session_is_loaded_again_after_a_restart(folder, tmp_path):
    options = ServerOptions(storage=f"sqlite:///{tmp_path}/tasks.db")
    async with served(scripted(folder), options=options) as client:
        await send(client, user_message("remember me", context_id="one"))
    task = await answered(scripted(folder), "recall", options, context_id="one")
    assert answer_of(task) == "remember me"


async def test_a_session_that_another_process_has_continued_is_loaded_again(folder):
    options = ServerOptions(storage=new_database())
    async with served(scripted(folder), options=options) as client:
        await send(client, user_message("first", context_id="one"))
        async with served(scripted(folder), options=options) as other:
            await send(other, user_message("second", context_id="one"))
        task = await send(client, user_message("recall", context_id="one"))
    assert answer_of(task) == "first; second"


async def test_a_session_that_cannot_be_loaded_is_replaced_and_the_caller_notified(
    folder, tmp_path
):
    options = ServerOptions(storage=f"sqlite:///{tmp_path}/tasks.db")
    async with served(scripted(folder), options=options) as client:
        await send(client, user_message("remember me", context_id="one"))
    seen = await progress(scripted(folder, "forgetful"), "recall", options)
    assert ["does not remember" in each.text for each in seen] == [True]


async def test_idle_sessions_make_room_and_are_loaded_again(folder):
    async with served(scripted(folder, processes=1)) as client:
        for number in range(3):
            await send(client, user_message(f"text {number}", context_id=str(number)))
        task = await send(client, user_message("recall", context_id="0"))
    assert answer_of(task) == "text 0"


@pytest.mark.parametrize("word", ["spawn", "deaf"])
async def test_a_cancelled_turn_leaves_no_process(folder, word):
    agent = scripted(folder)
    async with served(agent) as client:
        task_id, said = await begun(client, word, context_id="one")
        await cancel(client, task_id)
        # The next turn of the conversation begins when the process has ended.
        task = await send(client, user_message("recall", context_id="one"))
        assert answer_of(task).startswith(word)
        assert not [pid for pid in said.split() if pid.isdigit() and is_running(pid)]


async def test_a_server_that_stops_leaves_no_process(folder):
    async with served(scripted(folder)) as client:
        _, said = await begun(client, "spawn")
    pids = said.split()
    assert len(pids) == 2
    assert not [pid for pid in pids if is_running(pid)]


async def test_an_agent_that_dies_fails_its_task_alone(client):
    other, _ = await begun(client, "hang")
    task = await send(client, user_message("die", context_id="one"))
    assert task.status.state == FAILED
    assert answer_of(task) == "begun"
    again = await send(client, user_message("recall", context_id="one"))
    assert answer_of(again) == "die"
    await cancel(client, other)


async def test_junk_and_updates_of_other_sessions_are_dropped(folder):
    task = await answered(scripted(folder), "junk")
    assert task.status.state == COMPLETED
    assert answer_of(task) == "fine"


async def test_an_agent_that_does_not_start_fails_the_task(folder):
    task = await answered(scripted(folder, "mute", start_seconds=0.5), "hello")
    assert task.status.state == FAILED
    assert "did not start in time" in task.status.message.parts[0].text


async def test_an_agent_that_is_not_signed_in_says_so(folder, caplog):
    task = await answered(scripted(folder, "signed-out"), "hello")
    assert "not signed in" in task.status.message.parts[0].text
    assert "sign in: see the agent's documentation" in caplog.text


async def test_stop_reasons(client):
    limited = await send(client, user_message("stop max_tokens"))
    refused = await send(client, user_message("stop refusal"))
    stopped = await send(client, user_message("stop cancelled"))
    assert MessageToDict(limited.metadata)["stop_reason"] == "max_tokens"
    states = [task.status.state for task in (limited, refused, stopped)]
    assert states == [3, 7, 4]  # completed, rejected, failed


async def test_the_agent_gets_few_variables(folder, monkeypatch):
    monkeypatch.setenv("A_SECRET", "hunter2")
    monkeypatch.setenv("PASSED_ON", "yes")
    async with served(scripted(folder, pass_env=["PASSED_*"])) as client:
        names = json.loads(answer_of(await send(client, user_message("env"))))
    assert "A_SECRET" not in names
    assert {"PASSED_ON", "PATH", "AGENT_HOME"} <= set(names)


async def test_files_of_a_message(client):
    image = Part(raw=b"png", media_type="image/png", filename="a.png")
    text = Part(raw=b"a,b", media_type="text/csv", filename="a.csv")
    binary = Part(raw=b"\xff\xfe", media_type="application/zip", filename="a.zip")
    task = await send(client, user_message("see ", image, text))
    assert "<image>" in answer_of(task)
    assert "The file a.csv:\n\na,b" in answer_of(task)
    refused = await send(client, user_message("see", binary))
    assert "application/zip" in refused.status.message.parts[0].text


async def test_files_of_an_answer(folder):
    task = await answered(scripted(folder), "attach")
    files = [part for artifact in task.artifacts for part in artifact.parts]
    assert [(part.filename, part.media_type, part.raw) for part in files] == [
        ("", "image/png", b"png"),
        ("a.txt", "text/plain", b"text"),
        ("b.bin", "", b"bytes"),
        ("c.bin", "", b""),
    ]


async def test_mcp_servers_are_handed_through(folder):
    servers = ["http://127.0.0.1:9/mcp", "python3 -m tools"]
    async with served(scripted(folder, mcp_servers=servers)) as client:
        await send(client, user_message("hello"))
    http, stdio = json.loads((folder.parent / "work-home" / "servers.json").read_text())
    assert http["url"] == servers[0]
    assert stdio["args"] == ["-m", "tools"]


async def test_many_callers_at_once(folder):
    async with served(scripted(folder, processes=4)) as client:
        texts = [f"conversation {number}" for number in range(8)]
        tasks = await asyncio.gather(*(send(client, user_message(text)) for text in texts))
    assert [answer_of(task) for task in tasks] == texts


async def test_agents_that_prepare_their_home_folder_do_not_do_it_at_once(folder):
    async with served(scripted(folder, "fresh")) as client:
        tasks = await asyncio.gather(*(send(client, user_message("hello")) for _ in range(3)))
    assert [answer_of(task) for task in tasks] == ["hello"] * 3


async def test_an_owner_has_half_of_the_processes(folder):
    async with (
        running(build_app(scripted(folder, processes=2))) as url,
        connect(url, user="ann") as ann,
        connect(url, user="bob") as bob,
    ):
        await begun(ann, "hang")
        refused = await send(ann, user_message("hello"))
        assert "Too many of your conversations" in refused.status.message.parts[0].text
        assert answer_of(await send(bob, user_message("hello"))) == "hello"
        assert answer_of(await send(bob, user_message("another"))) == "another"


async def test_another_task_of_a_conversation_that_waits_is_rejected(client):
    await asked(client, "edit a.txt", context_id="one")
    events = await stream(client, user_message("hello", context_id="one"))
    assert "waits for an answer" in str(events[-1])


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("", "needs a command, or one of claude"),
        ("--color red sh", "unrecognized"),
        ("nobody-has-this", "there is no program 'nobody-has-this'"),
        ("--allow everything sh", "'everything' is not a kind of tool"),
        ("--cwd /nowhere sh", "there is no folder /nowhere"),
        ("--processes 0 sh", "processes must be greater than 0"),
        ("'", "is not a command"),
    ],
)
def test_wrong_words_say_what_to_do(word, hint):
    with pytest.raises(ConfigurationError, match=hint):
        AcpAgent.of_word(word)


def test_a_known_agent_that_is_not_installed_says_how(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigurationError, match="npm install --global opencode-ai, then run"):
        AcpAgent("opencode")


async def test_a_question_gives_its_process_to_another_conversation(folder):
    async with served(scripted(folder, processes=1)) as client:
        task = await asked(client, "edit a.txt")
        assert answer_of(await send(client, user_message("hello"))) == "hello"
        done = await send(client, user_message("yes", task_id=task.id))
    assert done.status.state == COMPLETED
    assert "Permission is granted. Use it and finish the task." in answer_of(done)


async def test_a_question_of_an_agent_that_cannot_load_sessions_keeps_its_process(folder):
    async with served(scripted(folder, "unloadable", processes=2)) as client:
        task = await asked(client, "edit a.txt")
        for text in ("hello", "another"):
            assert answer_of(await send(client, user_message(text))) == text
        done = await send(client, user_message("yes", task_id=task.id))
    assert "edited a.txt" in answer_of(done)


async def test_many_questions_share_few_processes(folder):
    files = [f"{number}.txt" for number in range(6)]
    async with served(scripted(folder, processes=2)) as client:
        tasks = await asyncio.gather(*(asked(client, f"edit {file}") for file in files))
        answers = (send(client, user_message("yes", task_id=task.id)) for task in tasks)
        done = await asyncio.gather(*answers)
    assert [task.status.state for task in done] == [COMPLETED] * 6
    for file, task in zip(files, done, strict=True):
        assert file in answer_of(task)
        assert not any(other in answer_of(task) for other in files if other != file)
