"""Record this release's use of a database: `python -m tests.plugins.sql.record`.

Run it at each release.

Writes the tables of both engines as SQL to `released/`, and as JSON lines the states of some
tasks and the statements and parameters that created them. `test_released.py` checks the next
release against them.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import tempfile
from base64 import b64encode
from contextlib import closing
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import psycopg
from a2a_adapters_functions import adapt
from a2a_adapters_sql.bulk import Bulk
from a2a_adapters_sql.schema_version import VERSION_TABLE
from sqlalchemy import Engine, event

from a2a_adapters import OutboundPolicy, PushOptions, ServerOptions, build_app
from a2a_adapters.contract.events import InputRequired
from tests.plugins.sql.conftest import new_url
from tests.support.requests import client_of

FOLDER = Path(__file__).with_name("released")
OURS = re.compile(r"^(INSERT|UPDATE|DELETE|SELECT|WITH)\b.*\ba2a_(?!schema)", re.DOTALL)
V1 = {"A2A-Version": "1.0"}


def book(city: str):
    """Book a journey."""
    yield f"To {city}. "
    if city == "ask":
        seats = yield InputRequired("How many seats?")
        yield f"{seats.text} seats."


async def work(http):
    """Exercise all reads and writes of an agent; return the results."""

    async def send(name, text, task_id=None, **configuration):
        message_id = str(uuid5(NAMESPACE_URL, name))  # "done" is recognised as a retry
        message = {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}]}
        message |= {"contextId": "journeys"} if task_id is None else {"taskId": task_id}
        sent = {"message": message, "configuration": configuration}
        return (await http.post("/message:send", json=sent)).json()["task"]

    done = await send("done", "Rome")
    push = {"taskPushNotificationConfig": {"url": "http://127.0.0.1:9/", "id": "push"}}
    asked = await send("asked", "ask", **push)
    answered = await send("answered", "ask")
    answered = await send("answer", "two", answered["id"])
    canceled = await send("canceled", "ask")
    canceled = (await http.post(f"/tasks/{canceled['id']}:cancel")).json()
    assert (await send("done", "Rome"))["id"] == done["id"]
    for path in ("/tasks", "/tasks?contextId=journeys", f"/tasks/{done['id']}"):
        (await http.get(path)).raise_for_status()
    configs = f"/tasks/{asked['id']}/pushNotificationConfigs"
    (
        await http.post(configs, json={"url": "http://127.0.0.1:9/", "id": "other"})
    ).raise_for_status()
    (await http.delete(f"{configs}/other")).raise_for_status()
    return {task["id"]: task["status"]["state"] for task in (done, asked, answered, canceled)}


async def statements_of(url):
    """Serve an agent on a storage; return its statements and its tasks' states."""
    statements = []

    def note(_connection, _cursor, statement, parameters, _context, _is_many):
        if OURS.match(statement):
            statements.append((statement, parameters))

    async def write_one_by_one(_bulk, _batch):
        return False

    write, Bulk.write = Bulk.write, write_one_by_one
    event.listen(Engine, "before_cursor_execute", note)
    try:
        push = PushOptions(outbound=OutboundPolicy(allow_private=True))
        app = build_app(adapt(book, durable=True), options=ServerOptions(storage=url, push=push))
        async with client_of(app, headers=V1) as http:
            states = await work(http)
    finally:
        event.remove(Engine, "before_cursor_execute", note)
        Bulk.write = write
    return statements, states


TABLES = """
SELECT format('CREATE TABLE %I (%s)', relname, string_agg(format('%I %s%s%s', attname,
  format_type(atttypid, atttypmod),
  CASE WHEN collname = 'C' THEN ' COLLATE "C"' END, CASE WHEN attnotnull THEN ' NOT NULL' END),
  ', ' ORDER BY attnum))
FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid LEFT JOIN pg_collation l
  ON l.oid = attcollation
WHERE relkind = 'r' AND relname LIKE 'a2a@_%' ESCAPE '@' AND attnum > 0 AND NOT attisdropped
GROUP BY relname ORDER BY relname
"""
KEYS = """
SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname,
  pg_get_constraintdef(oid))
FROM pg_constraint WHERE conname LIKE 'a2a@_%' ESCAPE '@' AND contype = 'p' ORDER BY conname
"""
INDEXES = """
SELECT indexdef FROM pg_indexes i WHERE tablename LIKE 'a2a@_%' ESCAPE '@' AND NOT EXISTS
  (SELECT FROM pg_constraint WHERE conname = indexname) ORDER BY indexname
"""


def tables_of(url):
    """Return the tables as SQL."""
    if url.startswith("sqlite"):
        connect = sqlite3.connect(url.removeprefix("sqlite:///"))
        queries = ["SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"]
    else:
        connect = psycopg.connect(url)
        queries = [TABLES, KEYS, INDEXES]
    with closing(connect) as connection:
        lines = [f"{sql};" for query in queries for (sql,) in connection.execute(query)]
        [(version,)] = connection.execute(f"SELECT * FROM {VERSION_TABLE}")
    return "\n".join([*lines, f"INSERT INTO {VERSION_TABLE} VALUES ('{version}');", ""])


def as_json(value):
    value = getattr(
        value, "obj", value
    )  # of a memoryview, and of psycopg's representation of bytes
    if isinstance(value, bytes):
        return {"base64": b64encode(value).decode()}
    if isinstance(value, dict):
        return {name: as_json(each) for name, each in value.items()}
    return [as_json(each) for each in value] if isinstance(value, (list, tuple)) else value


def record(engine, folder):
    """Write the recordings of an engine to a folder."""
    with tempfile.TemporaryDirectory() as databases:
        url = new_url(engine, Path(databases))
        statements, states = asyncio.run(statements_of(url))
        (folder / f"{engine}.sql").write_text(tables_of(url))
    lines = [json.dumps(each) for each in (states, *as_json(statements))]
    (folder / f"{engine}.jsonl").write_text("\n".join([*lines, ""]))


def main():
    FOLDER.mkdir(exist_ok=True)
    for engine in ("sqlite", "postgresql"):
        record(engine, FOLDER)


if __name__ == "__main__":
    main()
