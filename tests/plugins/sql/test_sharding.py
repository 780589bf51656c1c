"""Rows of an agent can be sharded by agent, tenant or owner."""

from __future__ import annotations

import re
import time
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg

from a2a_adapters import (
    InputRequired,
    Limits,
    OutboundPolicy,
    PushOptions,
    ServerOptions,
    build_app,
)
from a2a_adapters.testing import as_user, running
from tests.support.postgresql import new_database, new_database_at, server_of_its_own

HEADERS = {"A2A-Version": "1.0"}
OWNED = re.compile(r"\ba2a_(tasks|messages|states|push_configs|push_outbox)\b")
BY_OWNER = re.compile(r"\bowner\b\"? (=|IS NOT DISTINCT FROM) |\(agent, (task, )?owner, ")
UPKEEP = {
    "WITH RECURSIVE holders": "finds processes that hold tasks",
    "IS NOT DISTINCT FROM ''": "finds tasks that have waited too long",
    "OFFSET": "finds how old the oldest task may be",
    "a2a_tasks.process IS NULL OR": "finds tasks that other processes have taken",
    "UPDATE a2a_push_outbox SET process": "takes over the deliveries of dead processes",
    "UPDATE a2a_tasks SET process": "takes over the tasks of dead processes",
    "ORDER BY a2a_tasks.changed LIMIT": "prunes",
    "a2a_messages.accepted <": "prunes",
    "a2a_states.changed <": "prunes",
}
"""Background statements, which may read all owners of an agent."""


class Caller:
    """Calls an agent over JSON-RPC as a user."""

    def __init__(self, url, user):
        self._http = httpx.AsyncClient(headers=HEADERS | as_user(user), timeout=60)
        self._url = url

    async def __call__(self, method, **params):
        sent = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return (await self._http.post(self._url, json=sent)).json()["result"]

    async def send(self, text, *, configuration=None, **about):
        sent = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": text}], **about}
        result = await self("SendMessage", message=sent, configuration=configuration or {})
        return result["task"]

    async def aclose(self):
        await self._http.aclose()


async def agent(request):
    """Ask a question on request."""
    yield "thinking "
    if request.text == "ask":
        answer = yield InputRequired("Which one?")
        yield answer.text
    yield request.text


def logged(url, folder):
    """Return the statements on rows with an owner from PostgreSQL's log."""
    mark = uuid4().hex
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"SELECT '{mark}'")
    while mark not in (log := (folder / "log").read_text()):
        time.sleep(0.05)
    entries = re.findall(r"@@LOG: +(?:statement|execute [^:]*): (.*?)(?=\n@@|\Z)", log, re.DOTALL)
    statements = {re.sub(r"\s+", " ", entry) for entry in entries}
    written = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")
    return [each for each in statements if each.startswith(written) and OWNED.search(each)]


async def test_every_statement_of_a_request_names_the_owner():
    server = server_of_its_own()
    url = new_database_at(server)
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET log_line_prefix = '@@'")
        connection.execute("ALTER SYSTEM SET log_statement = 'all'")
        connection.execute("SELECT pg_reload_conf()")
    push = PushOptions(outbound=OutboundPolicy(allow_private=True))
    options = ServerOptions(storage=url, push=push, limits=Limits(sweep_seconds=0.1))
    async with running(build_app(agent, options=options)) as address, AsyncExitStack() as stack:
        ann = Caller(address, "ann")
        stack.push_async_callback(ann.aclose)
        await ann.send("hello", contextId="first")
        receiver = {"taskPushNotificationConfig": {"id": "p", "url": f"{address}/receive"}}
        asked = await ann.send("ask", contextId="first", configuration=receiver)
        about = {"taskId": asked["id"]}
        await ann("CreateTaskPushNotificationConfig", **about, id="q", url=f"{address}/receive")
        assert len((await ann("ListTaskPushNotificationConfigs", **about))["configs"]) == 2
        await ann("DeleteTaskPushNotificationConfig", **about, id="q")
        answered = await ann.send("the red one", **about)
        assert answered["status"]["state"] == "TASK_STATE_COMPLETED"
        cancelled = await ann.send("ask")
        await ann("CancelTask", id=cancelled["id"])
        assert (await ann("GetTask", id=asked["id"]))["id"] == asked["id"]
        assert len((await ann("ListTasks", contextId="first"))["tasks"]) == 2
    statements = logged(server.get_uri(), Path(server.pgdata))
    without = [each for each in statements if not BY_OWNER.search(each)]
    assert len(statements) - len(without) > 10
    unexpected = [each for each in without if not any(known in each for known in UPKEEP)]
    assert not unexpected


async def test_tenants_share_an_agent_but_no_database():
    urls = {"ann": new_database(), "bob": new_database()}
    async with AsyncExitStack() as stack:
        callers = {}
        for user, url in urls.items():
            app = build_app(agent, options=ServerOptions(storage=url))
            callers[user] = Caller(await stack.enter_async_context(running(app)), user)
            stack.push_async_callback(callers[user].aclose)
        tasks = {user: await caller.send(user) for user, caller in callers.items()}
        listed = {user: await caller("ListTasks") for user, caller in callers.items()}
    for user, url in urls.items():
        assert [task["id"] for task in listed[user]["tasks"]] == [tasks[user]["id"]]
        with psycopg.connect(url) as connection:
            stored = connection.execute("SELECT id, owner FROM a2a_tasks").fetchall()
        assert stored == [(tasks[user]["id"], user)]
