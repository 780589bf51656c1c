"""Compatibility with the previous release's database, also during a rolling update.

Migrations only add things that the previous release can ignore: its processes use the new tables
during a rolling update. Removals follow a release later. `record.py` writes the recordings; before
the first release, it records this version.
"""

from __future__ import annotations

import json
import sqlite3
from base64 import b64decode
from contextlib import closing

import psycopg
import pytest
from a2a_adapters_functions import adapt
from a2a_adapters_sql.migrate import differences

from a2a_adapters import Limits, ServerOptions, build_app
from tests.plugins.sql.conftest import new_url, storage_at
from tests.plugins.sql.record import FOLDER, V1, book, record
from tests.support.requests import client_of, say

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(5 * 60)]


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request, tmp_path):
    """The URL of a database without tables."""
    return new_url(request.param, tmp_path, tables=False)


@pytest.fixture
def release(database_url, tmp_path_factory):
    """The recordings of the previous release: the tables, the statements, and the states."""
    engine = database_url.partition(":")[0]
    folder = FOLDER
    if not (folder / f"{engine}.sql").exists():
        folder = tmp_path_factory.mktemp("released")
        record(engine, folder)
    lines = (folder / f"{engine}.jsonl").read_text().splitlines()
    states, *statements = [json.loads(line, object_hook=as_bytes) for line in lines]
    return (folder / f"{engine}.sql").read_text(), statements, states


def connected(url):
    is_file = url.startswith("sqlite")
    return closing(
        sqlite3.connect(url.removeprefix("sqlite:///")) if is_file else psycopg.connect(url)
    )


def as_bytes(value):
    return b64decode(value["base64"]) if value.keys() == {"base64"} else value


def make_tables(url, tables):
    with connected(url) as connection:
        for statement in tables.split(";\n"):
            connection.execute(statement)
        connection.commit()


def repeat(url, statements):
    """Replay the statements of the previous release."""
    with connected(url) as connection:
        for statement, parameters in statements:
            is_many = isinstance(parameters, list) and isinstance(parameters[0], (list, dict))
            cursor = connection.cursor()
            (cursor.executemany if is_many else cursor.execute)(statement, parameters)
        connection.commit()


FOR_EVER = Limits(input_seconds=1e9, stored_seconds=1e9)
"""Limits that expire none of the recorded tasks."""


async def migrate(url):
    """Open and close the database."""
    storage = storage_at(url)
    await storage.start()
    try:
        assert await storage.database.looked_at(differences) == []
    finally:
        await storage.aclose(1)


async def check(url, states):
    """Serve the agent with this release; check its tasks and answer a question."""
    app = build_app(adapt(book, durable=True), options=ServerOptions(storage=url, limits=FOR_EVER))
    async with client_of(app, headers=V1) as http:
        listed = (await http.get("/tasks?includeArtifacts=true")).json()["tasks"]
        assert {task["id"]: task["status"]["state"] for task in listed} == states
        [asked] = [name for name, state in states.items() if state.endswith("INPUT_REQUIRED")]
        sent = say("five", messageId="message-new", taskId=asked)
        task = (await http.post("/message:send", json=sent)).json()["task"]
        assert task["status"]["state"] == "TASK_STATE_COMPLETED", task
        assert "five seats." in json.dumps(task)


def test_the_recordings_are_complete(release):
    tables, statements, states = release
    assert "a2a_push_outbox" in tables
    assert {statement.split()[0] for statement, _ in statements} >= {"INSERT", "UPDATE", "DELETE"}
    assert len(states) == 4


async def test_a_database_of_the_previous_release_is_migrated_and_read(database_url, release):
    tables, statements, states = release
    make_tables(database_url, tables)
    repeat(database_url, statements)
    await migrate(database_url)
    await check(database_url, states)


async def test_the_previous_release_works_with_the_new_tables(database_url, release):
    tables, statements, states = release
    make_tables(database_url, tables)
    await migrate(database_url)
    repeat(database_url, statements)
    await check(database_url, states)
