"""Permissions: questions, rules, and agents that would get around them."""

from __future__ import annotations

import json
import os

import pytest
from a2a.types import Part
from a2a_adapters_acp import Permissions
from a2a_adapters_acp.serving.paths import inside, opened
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value

from a2a_adapters import ServerOptions
from a2a_adapters.testing import answer_of, send, stream, user_message
from tests.plugins.acp.support import (
    COMPLETED,
    FAILED,
    INPUT_REQUIRED,
    answered,
    asked,
    cancel,
    question_of,
    scripted,
    served,
    until,
)


def data(value):
    return Part(data=ParseDict(value, Value()))


async def reply(client, task, text="", *parts):
    return await send(client, user_message(text, *parts, task_id=task.id))


async def test_an_edit_is_asked_for_and_its_patch_is_an_artifact(client, folder):
    task = await asked(client, "edit a.txt")
    assert question_of(task) == (
        "The agent asks for permission:\n\n    edit: Edit a.txt\n    Files: a.txt\n\n"
        "Answer yes or always or no."
    )
    about = MessageToDict(task.status.message.parts[1].data)["permission"]
    assert about["options"][0] == {"id": "o1", "kind": "allow_once", "answer": "yes"}
    assert "+new" in task.status.message.parts[2].text
    assert str(folder) not in str(task)
    done = await reply(client, task, "yes")
    assert done.status.state == COMPLETED
    assert (folder / "a.txt").read_text() == "new\n"
    patch = next(a for a in done.artifacts if a.name == "a.txt.patch")
    assert patch.parts[0].text == "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+new\n"
    assert patch.parts[0].media_type == "text/x-diff"


async def test_a_change_that_only_the_request_shows_is_an_artifact(folder):
    task = await answered(scripted(folder, permissions=Permissions(allow=["edit"])), "brief a.txt")
    assert [a.name for a in task.artifacts] == ["a.txt.patch"]


async def test_changed_files_are_sent_on_request(folder):
    async with served(scripted(folder, permissions=Permissions(allow=["edit"]))) as client:
        request = user_message("edit a.txt")
        request.metadata["files"] = True
        task = await send(client, request)
    assert [a.parts[0].raw for a in task.artifacts if a.name == "a.txt"] == [b"new\n"]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("big a.txt", "", "(too large to show: 6296 characters become 300000)\n"),
        ("replace a.txt 800", "@@ -1,801 +1,801 @@\n-first\n-old 0\n", "+new 798\n+new 799\n"),
        ("append a.txt", "@@ -799,3 +799,4 @@\n old 797\n", " old 799\n+last\n"),
    ],
    ids=str,
)
async def test_patches_of_large_files(folder, text, start, end):
    agent = scripted(folder, permissions=Permissions(allow=["edit"]))
    lines = [f"old {number}\n" for number in range(800)]
    (folder / "a.txt").write_text("".join(["first\n", *lines]))
    task = await answered(agent, text)
    patch = next(a for a in task.artifacts if a.name == "a.txt.patch").parts[0].text
    assert start in patch
    assert patch.endswith(end)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("Yes.", "edited a.txt"),
        ("always", "edited a.txt"),
        ("no", "reject_once a.txt"),
        ([data({"option": "o1"})], "edited a.txt"),
        ([data({"option": "o3"})], "reject_once a.txt"),
    ],
)
async def test_answers(client, answer, outcome):
    task = await asked(client, "edit a.txt")
    parts = ("", *answer) if isinstance(answer, list) else (answer,)
    done = await reply(client, task, *parts)
    assert outcome in answer_of(done)


async def test_an_unclear_answer_is_asked_again_and_never_allows(client, folder):
    task = await asked(client, "edit a.txt")
    for answer in (("yes, but rename it",), ("", data({"option": "o9"})), ("", data({}))):
        task = await reply(client, task, *answer)
        assert task.status.state == INPUT_REQUIRED
        assert question_of(task).startswith("That is not one of the answers.\nThe agent")
    assert not (folder / "a.txt").exists()
    done = await reply(client, task, "no")
    assert "reject_once" in answer_of(done)


async def test_the_reason_of_a_no_is_the_next_prompt(client):
    task = await asked(client, "edit a.txt")
    done = await reply(client, task, "no, use b.txt instead")
    assert answer_of(done) == "reject_once a.txt\n\nuse b.txt instead"


async def test_several_questions_of_one_turn(client, folder):
    task = await asked(client, "edits a.txt b.txt")
    task = await reply(client, task, "yes")
    assert "b.txt" in question_of(task)
    done = await reply(client, task, "no")
    assert "edited a.txt" in answer_of(done)
    assert not (folder / "b.txt").exists()


async def test_a_question_is_answered_after_a_restart(folder, tmp_path):
    options = ServerOptions(storage=f"sqlite:///{tmp_path}/tasks.db")
    async with served(scripted(folder), options=options) as client:
        task = await asked(client, "edit a.txt")
    async with served(scripted(folder), options=options) as client:
        again = await reply(client, task, "what?")
        assert again.status.state == INPUT_REQUIRED
        done = await reply(client, task, "yes")
    assert done.status.state == COMPLETED
    assert "Permission is granted. Use it and finish the task." in answer_of(done)


@pytest.mark.parametrize(("mode", "state"), [("same", COMPLETED), ("other", INPUT_REQUIRED)])
async def test_a_permission_of_before_a_restart_is_for_the_same_change_alone(
    folder, tmp_path, mode, state
):
    options = ServerOptions(storage=f"sqlite:///{tmp_path}/tasks.db")
    async with served(scripted(folder, mode), options=options) as client:
        task = await asked(client, "edit a.txt")
    async with served(scripted(folder, mode), options=options) as client:
        done = await reply(client, task, "yes")
    assert done.status.state == state
    assert (folder / "a.txt").exists() == (mode == "same")


async def test_an_agent_that_cannot_load_its_session_fails_after_a_restart(folder, tmp_path):
    options = ServerOptions(storage=f"sqlite:///{tmp_path}/tasks.db")
    async with served(scripted(folder), options=options) as client:
        task = await asked(client, "edit a.txt")
    async with served(scripted(folder, "forgetful"), options=options) as client:
        done = await reply(client, task, "yes")
    assert done.status.state == FAILED
    assert "please start a new task" in done.status.message.parts[0].text


async def test_an_allow_after_a_cancel_changes_nothing(client, folder):
    task = await asked(client, "late", context_id="one")
    await cancel(client, task.id)
    with pytest.raises(Exception, match="is over"):
        await stream(client, user_message("yes", task_id=task.id))
    await send(client, user_message("hello", context_id="one"))
    assert not (folder / "late.txt").exists()


async def test_the_words_of_options_are_ours(client):
    task = await asked(client, "lie")
    assert "\x1b" not in str(task)
    assert question_of(task).endswith("$ x\n\nAnswer yes or no.")
    done = await reply(client, task, "no")
    assert answer_of(done) == "reject_once"


async def test_an_agent_that_insists_is_stopped(folder):
    task = await answered(scripted(folder, permissions=Permissions(deny=["fetch"])), "insist")
    assert task.status.state == FAILED
    assert "insists" in task.status.message.parts[0].text


async def test_an_agent_that_asks_too_often_at_once_is_refused(client, folder):
    task = await asked(client, "flood")
    await until((folder / "denied.txt").exists)
    for _ in range(16):
        assert task.status.state == INPUT_REQUIRED
        task = await reply(client, task, "yes")
    assert task.status.state == COMPLETED
    assert (folder / "denied.txt").read_text() == " ".join(["reject_once"] * 4)


@pytest.mark.parametrize(
    "fields",
    [
        {"locations": [{"path": f"{number}.txt"} for number in range(51)]},
        {"options": [{"optionId": str(n), "name": "x", "kind": "allow_once"} for n in range(11)]},
        {"options": [{"optionId": "x" * 201, "name": "x", "kind": "allow_once"}]},
    ],
    ids=["paths", "options", "id"],
)
async def test_a_request_that_cannot_be_shown_in_full_is_denied(folder, fields):
    task = await answered(scripted(folder), call(**fields))
    assert answer_of(task) in ("reject_once", "cancelled")


async def test_an_agents_words_cannot_pass_for_ours(client):
    title, command = "Read it\nFiles: README.md\nAnswer yes.", "ls\nFiles: README.md"
    task = await asked(client, call(title, kind="read", rawInput={"command": command}))
    assert question_of(task).splitlines() == [
        "The agent asks for permission:",
        "",
        "    execute: Read it Files: README.md Answer yes.",
        "    $ ls",
        "    > Files: README.md",
        "",
        "Answer yes or always or no.",
    ]


@pytest.mark.parametrize(
    "word", ["<!--", "-->", "```", "~~~", "</code>", "\n\n", "\r\n\r\nx", "$$"]
)
async def test_markup_of_an_agent_hides_no_part_of_a_command(client, word):
    command = f"ls {word} ; rm -rf ~ {word}"
    title = f"{word} Read it {word}"
    task = await asked(client, call(title, kind="read", rawInput={"command": command}))
    begin, *block, end = question_of(task).split("\n\n")
    assert begin == "The agent asks for permission:"
    assert end == "Answer yes or always or no."
    assert all(line.startswith("    ") for part in block for line in part.splitlines())
    assert "rm -rf ~" in "".join(block)


def call(title="do", **fields):
    return f"ask {json.dumps({'title': title, **fields})}"


RULES = Permissions(allow=["read", "search"], allow_edits_in=["src"], ask=False)


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"kind": "read"}, "allow_once"),
        ({"kind": "read", "locations": [{"path": "src/a.py"}]}, "allow_once"),
        ({"kind": "read", "locations": [{"path": "/etc/passwd"}]}, "reject_once"),
        ({"kind": "read", "rawInput": {"path": "../secret"}}, "reject_once"),
        ({"kind": "read", "rawInput": {"path": "link/secret"}}, "reject_once"),
        ({"kind": "read", "rawInput": {"path": "a\0b"}}, "reject_once"),
        ({"kind": "read", "rawInput": {"command": "rm -rf ."}}, "reject_once"),
        ({"kind": "edit", "locations": [{"path": "src/a.py"}]}, "allow_once"),
        ({"kind": "delete", "locations": [{"path": "src/a.py"}]}, "allow_once"),
        ({"kind": "edit", "locations": [{"path": "b.py"}]}, "reject_once"),
        ({"kind": "edit", "locations": [{"path": "src/../b.py"}]}, "reject_once"),
        ({"kind": "edit"}, "reject_once"),
        ({"kind": "edit", "locations": [{"path": "src/.git/hooks/pre-commit"}]}, "reject_once"),
        ({"kind": "fetch"}, "reject_once"),
        ({"kind": "execute"}, "reject_once"),
        (
            {"kind": "read", "content": [{"type": "diff", "path": "b.py", "newText": "x"}]},
            "reject_once",
        ),
    ],
    ids=str,
)
async def test_rules(folder, tmp_path, fields, outcome):
    agent = scripted(folder, permissions=RULES)
    (folder / "link").symlink_to(tmp_path)
    task = await answered(agent, call(**fields))
    assert answer_of(task) == outcome


@pytest.mark.parametrize(
    ("path", "outcome"),
    [
        ("{folder}/a.txt", "null"),
        ("{folder}/new/a.txt", "null"),
        ("{folder}/../a.txt", "not in the working folder"),
        ("{folder}/link/a.txt", "not in the working folder"),
        ("{folder}/.git/config", "protected"),
        ("a.txt", "not in the working folder"),
        ("/etc/a2a", "not in the working folder"),
    ],
)
async def test_files_are_written_in_the_folder_alone(folder, tmp_path, path, outcome):
    agent = scripted(folder)
    (folder / "link").symlink_to(tmp_path)
    async with served(agent) as client:
        path = path.format(folder=folder)
        said = answer_of(await send(client, user_message(f"fs write {path} text")))
    if outcome == "null":
        assert said in ("null", "{}")
    else:
        assert outcome in said
    assert not (tmp_path / "a.txt").exists()


async def test_files_are_read_in_the_folder_alone(folder, tmp_path):
    agent = scripted(folder)
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "b.txt").write_text("hunter2")
    async with served(agent) as client:
        whole = await send(client, user_message(f"fs read {folder}/a.txt"))
        part = await send(client, user_message(f"fs read {folder}/a.txt 2 1"))
        missing = await send(client, user_message(f"fs read {folder}/c.txt"))
        outside = await send(client, user_message(f"fs read {tmp_path}/b.txt"))
    assert json.loads(answer_of(whole)) == {"content": "one\ntwo\nthree\n"}
    assert json.loads(answer_of(part)) == {"content": "two\n"}
    assert "not found" in answer_of(missing)
    assert "hunter2" not in answer_of(outside)


@pytest.mark.parametrize("mode", ["r", "w"])
@pytest.mark.parametrize("linked", ["sub", "sub/a.txt"])
def test_a_path_that_becomes_a_link_after_its_check_is_not_opened(tmp_path, mode, linked):
    folder, outside = tmp_path / "work", tmp_path / "outside"
    (folder / "sub").mkdir(parents=True)
    outside.mkdir()
    (outside / "a.txt").write_text("hunter2")
    file = inside(str(folder / "sub" / "a.txt"), folder)
    target = outside if linked == "sub" else outside / "a.txt"
    if linked == "sub":
        (folder / "sub").rmdir()
    (folder / linked).symlink_to(target)
    with pytest.raises(OSError, match=r"directory|symbolic"):
        opened(file, folder, mode)
    assert (outside / "a.txt").read_text() == "hunter2"


@pytest.mark.parametrize("call", ["read", "write"])
async def test_named_pipes_are_not_opened(folder, call):
    agent = scripted(folder)
    os.mkfifo(folder / "pipe")
    async with served(agent) as client:
        words = f"fs {call} {folder}/pipe" + " text" * (call == "write")
        said = answer_of(await send(client, user_message(words)))
    assert "not a regular file" in said
