"""`a2a-adapters task` (a2a-cli 0.2)."""

from __future__ import annotations

import json

import pytest
import pytest_asyncio

pytestmark = [pytest.mark.timeout(5 * 60), pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(loop_scope="module")
async def task(url, run_json):
    return (await run_json("send", url, "draw"))["task"]


async def test_get(url, run, run_json, task):
    assert await run_json("task", "get", url, task["id"]) == task
    shown = (await run("task", "get", url, task["id"])).stdout
    assert "History" not in shown
    assert (
        "History: user\nText:\ndraw\n"
        in (await run("task", "get", url, task["id"], "--history", "5", "--wait")).stdout
    )


async def test_list(url, run, run_json, task):
    page = await run_json("task", "list", url, "--context-id", task["contextId"])
    assert [each["id"] for each in page["tasks"]] == [task["id"]]
    options = ["--context-id", task["contextId"], "--status", "failed"]
    assert not (await run_json("task", "list", url, *options)).get("tasks")
    lines = await run("task", "list", url, "--stream", "-o", "json", "--page-size", "1")
    assert [json.loads(line)["id"] for line in lines.stdout.splitlines()]
    wrong = await run("task", "list", url, "--status", "happy")
    assert (wrong.returncode, "unknown state 'happy'" in wrong.stderr) == (2, True)


async def test_subscribe_until_input_is_required(url, run, run_json):
    task = (await run_json("send", url, "endless", "--async"))["task"]
    late = await run(
        "task", "subscribe", url, task["id"], "--stream", "-o", "json", "--timeout", "5s"
    )
    first, *_, last = map(json.loads, late.stdout.splitlines())
    assert first["task"]["id"] == task["id"]
    assert (late.returncode, last["error"]["code"]) == (5, "A2ACLI_ERR_TIMEOUT")
    await run("task", "cancel", url, task["id"])


async def test_a_completed_task_cannot_be_cancelled(url, run, task):
    done = await run("task", "cancel", url, task["id"], "-o", "json")
    assert json.loads(done.stdout)["error"]["code"] == "TaskNotCancelableError"
    assert done.returncode == 1


async def test_download(url, run, task, tmp_path):
    for _ in range(2):
        done = await run("task", "download", url, task["id"], "-d", "saved")
        assert done.stdout.count("Saved: ") == 3
    assert {path.suffix for path in (tmp_path / "saved").iterdir()} == {".txt", ".png", ".json"}
    assert (tmp_path / "saved" / "sky.png").read_bytes() == b"12"
    assert (tmp_path / "saved" / "sky-2.png").exists()


async def test_push_config(url, run, run_json):
    task = (await run_json("send", url, "endless", "--async"))["task"]
    made = await run_json(
        *["task", "push-config", "create", url, task["id"]],
        *["--url", "https://93.184.215.14/hook", "--id", "mine"],
    )
    assert (made["taskId"], made["id"]) == (task["id"], "mine")
    assert await run_json("task", "push-config", "get", url, task["id"], "mine") == made
    page = await run_json("task", "push-config", "list", url, task["id"])
    assert page["configs"] == [made]
    assert (await run("task", "push-config", "delete", url, task["id"], "mine")).returncode == 0
    gone = await run("task", "push-config", "get", url, task["id"], "mine")
    assert gone.returncode == 1
    await run("task", "cancel", url, task["id"])
