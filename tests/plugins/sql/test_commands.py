"""`a2a-adapters db`, run as a user runs it."""

from __future__ import annotations

import json

import pytest
from google.protobuf.json_format import ParseDict

from a2a_adapters.cli.exits import FAILED, USAGE
from tests.plugins.sql.conftest import new_url, opened
from tests.plugins.sql.test_contract import COMPLETED, WORKING, put, store_of, task
from tests.support.command_line import finished

pytestmark = pytest.mark.timeout(300)


def db(*arguments, **environment):
    """Run a command; return its result."""
    return finished("db", *arguments, variables={"COLUMNS": "300"} | environment)


def succeeded(*arguments, **environment):
    done = db(*arguments, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def failed(code, *arguments, **environment):
    done = db(*arguments, **environment)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


async def filled(url, *agents):
    async with opened(url) as storage:
        for agent in agents:
            stored = task("done", COMPLETED)
            ParseDict({"whole": 3, "half": 0.5, "text": "鍵"}, stored.metadata)
            await put(store_of(storage, agent), stored, "ann")
            await put(store_of(storage, agent), task("open", WORKING), "bob")


def test_a_database_is_created_and_checked(database_url):
    assert "the schema is None" in failed(FAILED, "check", "--storage", database_url)
    assert succeeded("upgrade", "--storage", database_url) == ""
    assert succeeded("upgrade", "--storage", database_url) == ""
    assert succeeded("check", "--storage", database_url) == ""


async def test_check_lists_differences(database_url):
    async with opened(database_url) as storage, storage.database.engine.begin() as connection:
        await connection.exec_driver_sql("DROP INDEX a2a_tasks_newest")
        await connection.exec_driver_sql("CREATE TABLE not_ours (id INTEGER)")
    [line] = failed(FAILED, "check", "--storage", database_url).splitlines()
    assert "a2a_tasks_newest" in line


async def test_tasks_are_exported_as_lines_of_json(database_url):
    await filled(database_url, "poet", "coder")
    lines = [
        json.loads(line) for line in succeeded("export", "--storage", database_url).splitlines()
    ]
    assert [(line["agent"], line["owner"], line["task"]["id"]) for line in lines] == [
        (agent, owner, name)
        for agent in ("coder", "poet")
        for owner, name in (("ann", "done"), ("bob", "open"))
    ]
    metadata = lines[0]["task"]["metadata"]
    assert metadata == {"whole": 3, "half": 0.5, "text": "鍵"}
    assert isinstance(metadata["whole"], int)
    assert lines[0]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_old_tasks_are_pruned_whatever_their_agent_is_called(database_url):
    await filled(database_url, "poet", "#hash", "long" * 100)
    storage = {"A2A_ADAPTERS_STORAGE": database_url}
    assert succeeded("prune", "--days", "36500", **storage) == "0 tasks\n"
    assert succeeded("prune", **storage) == "3 tasks\n"
    assert succeeded("prune", "--days", "0", **storage) == "0 tasks\n"
    exported = succeeded("export", **storage).splitlines()
    assert {json.loads(line)["task"]["id"] for line in exported} == {"open"}


@pytest.mark.parametrize("command", ["upgrade", "check", "prune", "export"])
@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("memory:", "memory: is not a database"),
        ("mysql://u:secret@host/d", "unknown storage mysql:"),
        ("postgresql://u:secret@127.0.0.1:1/d", "cannot use the storage"),
    ],
)
def test_a_wrong_storage_is_one_line_without_the_password(command, url, says):
    error = failed(USAGE, command, "--storage", url)
    assert says in error
    assert len(error.splitlines()) == 1
    assert "secret" not in error


def test_a_storage_is_required():
    assert "--storage" in failed(USAGE, "prune", A2A_ADAPTERS_STORAGE="")


async def test_a_file_used_by_a_server_is_refused(tmp_path):
    url = new_url("sqlite", tmp_path)
    async with opened(url):
        assert "another process uses" in failed(USAGE, "prune", "--storage", url)
