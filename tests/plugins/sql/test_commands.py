"""`a2a-adapters db`, run as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys

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


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_a_database_is_created_and_checked(engine, tmp_path):
    url = new_url(engine, tmp_path, tables=False)
    assert "a2a-adapters db upgrade" in failed(USAGE, "check", "--storage", url)
    assert succeeded("upgrade", "--storage", url) == ""
    assert succeeded("upgrade", "--storage", url) == ""
    assert succeeded("check", "--storage", url) == ""


async def test_check_lists_differences(database_url):
    async with opened(database_url) as storage, storage.database.engine.begin() as connection:
        for statement in (
            "DROP INDEX a2a_tasks_newest",
            "DROP TABLE a2a_push_configs",
            "CREATE TABLE not_ours (id INTEGER)",
            "CREATE TABLE a2a_odd (id INTEGER)",
            "ALTER TABLE a2a_tasks ADD COLUMN odd INTEGER",
            "CREATE INDEX a2a_odder ON a2a_tasks (changed)",
        ):
            await connection.exec_driver_sql(statement)
    assert set(failed(FAILED, "check", "--storage", database_url).splitlines()) == {
        "the index a2a_tasks_newest is missing",
        "the table a2a_push_configs is missing",
        "the table a2a_odd is not of this release",
        "the column a2a_tasks.odd is not of this release",
        "the index a2a_odder is not of this release",
    }


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


WITHOUT_EXTRAS = """
import sys
sys.modules |= dict.fromkeys(("aiosqlite", "alembic", "psycopg", "sqlalchemy"))
from a2a_adapters.cli import main

for line in sys.stdin:
    sys.argv[1:] = line.split()
    try:
        main()
    except SystemExit as end:
        print(end.code, file=sys.stderr)
"""

WRONG = {
    "tasks.db": "for the file tasks.db it is sqlite:///tasks.db",
    "data/tasks.db": "for the file data/tasks.db it is sqlite:///data/tasks.db",
    "sqlite:tasks.db": "for the file tasks.db it is sqlite:///tasks.db",
    "sqlite:///": "needs a file",
    "sqlite://tasks.db": "needs a file",
    "postgres://u:secret@h/d": "use postgresql://",
    "mysql://u:secret@h/d": "unknown storage mysql:",
    "u:secret@h/d": "the storage must be a URL",
}
MISSING = {
    "sqlite:///tasks.db": "a2a-adapters[sqlite]",
    "postgresql://u:secret@h/d": "a2a-adapters[postgresql]",
}


@pytest.mark.thorough
def test_a_storage_is_explained_without_the_extras_too(tmp_path):
    (tmp_path / "agent.py").write_text("def agent(text: str) -> str: return text")
    commands = ["db check", "db prune", "tasks list", "serve agent:agent"]
    cases = [
        (f"{command} --storage {url}", says)
        for command in commands
        for url, says in (WRONG | MISSING).items()
    ]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS],
        cwd=tmp_path,
        input="".join(f"{command}\n" for command, _ in cases),
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stderr.splitlines()
    assert lines[1::2] == [str(USAGE)] * len(cases)
    for (command, says), line in zip(cases, lines[::2], strict=True):
        assert says in line, command
    assert "secret" not in done.stderr
    assert list(tmp_path.glob("*.db")) == []


@pytest.mark.parametrize(
    "command", ["db check", "db prune", "db export", "tasks list", "tasks show t", "tasks end t"]
)
def test_a_mistyped_file_is_not_created(command, tmp_path):
    url = new_url("sqlite", tmp_path, tables=False)
    done = finished(*command.split(), "--storage", url, variables={"COLUMNS": "300"})
    assert (done.returncode, done.stdout) == (USAGE, "")
    assert f"there is no file {url.removeprefix('sqlite:///')}" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_storage_is_required():
    assert "--storage" in failed(USAGE, "prune", A2A_ADAPTERS_STORAGE="")


async def test_a_file_used_by_a_server_is_refused(tmp_path):
    url = new_url("sqlite", tmp_path)
    async with opened(url):
        assert "another process uses" in failed(USAGE, "prune", "--storage", url)
