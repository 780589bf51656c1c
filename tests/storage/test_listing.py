"""ListTasks over the memory store: a2a-sdk's order, filters and page tokens."""

from __future__ import annotations

import pytest
from a2a.server.context import ServerCallContext
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import Artifact, ListTasksRequest, Message, Part, Task, TaskState, TaskStatus
from a2a.utils.errors import InvalidParamsError
from a2a.utils.task import encode_page_token
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from a2a_adapters import Limits
from a2a_adapters.runtime import MemoryTaskStore

CALLER = ServerCallContext()
WORKING, COMPLETED = TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_COMPLETED


def task(name, time=None, state=WORKING, context="c"):
    status = TaskStatus(state=state)
    if time is not None:
        status.timestamp.CopyFrom(Timestamp(seconds=time // 2, nanos=time % 2 * 500))
    return Task(id=name, context_id=context, status=status)


SAVED = st.builds(
    task,
    name=st.sampled_from("abcdefgh"),
    time=st.none() | st.integers(0, 6),
    state=st.sampled_from([WORKING, COMPLETED]),
    context=st.sampled_from(["c", "d"]),
)
FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "context_id": st.sampled_from(["c", "d", "e"]),
        "status": st.sampled_from([WORKING, COMPLETED]),
        "status_timestamp_after": st.builds(Timestamp, seconds=st.integers(0, 3)),
    },
)


async def pages(store, size, filters):
    """Return the ids on all pages, and the reported totals."""
    found, token = [], ""
    while True:
        request = ListTasksRequest(page_size=size, page_token=token, **filters)
        page = await store.list(request, CALLER)
        found.append(([t.id for t in page.tasks], page.total_size, page.page_size))
        if not (token := page.next_page_token):
            return found


@given(st.lists(SAVED, max_size=20), st.integers(1, 4), FILTERS)
async def test_pages_are_those_of_the_sdk(saved, size, filters):
    ours, theirs = MemoryTaskStore(Limits()), InMemoryTaskStore()
    for each in saved:
        await ours.save(each, CALLER)
        await theirs.save(each, CALLER)
    assert await pages(ours, size, filters) == await pages(theirs, size, filters)


async def test_a_token_stays_valid_when_its_task_changes_or_is_deleted():
    store = MemoryTaskStore(Limits())
    for n, name in enumerate("abcdef"):
        await store.save(task(name, n), CALLER)
    first = await store.list(ListTasksRequest(page_size=2), CALLER)
    assert [t.id for t in first.tasks] == ["f", "e"]
    await store.save(task("e", 9), CALLER)
    await store.delete("d", CALLER)
    rest = ListTasksRequest(page_size=9, page_token=first.next_page_token)
    assert [t.id for t in (await store.list(rest, CALLER)).tasks] == ["c", "b", "a"]


async def test_tokens_of_the_sdk_are_accepted_and_others_refused():
    store = MemoryTaskStore(Limits())
    for n, name in enumerate("abc"):
        await store.save(task(name, n), CALLER)
    page = await store.list(ListTasksRequest(page_token=encode_page_token("b")), CALLER)
    assert [t.id for t in page.tasks] == ["b", "a"]
    for token in (encode_page_token("z"), "???"):
        with pytest.raises(InvalidParamsError):
            await store.list(ListTasksRequest(page_token=token), CALLER)
    elsewhere = ListTasksRequest(page_token=encode_page_token("b"), context_id="other")
    with pytest.raises(InvalidParamsError):
        await store.list(elsewhere, CALLER)


async def test_artifacts_are_included_on_request_and_kept_in_the_store():
    store = MemoryTaskStore(Limits())
    stored = task("a", 1)
    stored.metadata["n"] = 1
    stored.history.append(Message(message_id="m"))
    stored.artifacts.append(Artifact(artifact_id="x", parts=[Part(text="text")]))
    await store.save(stored, CALLER)
    whole = await store.list(ListTasksRequest(include_artifacts=True), CALLER)
    assert whole.tasks[0] == stored
    short = await store.list(ListTasksRequest(), CALLER)
    expected = Task()
    expected.CopyFrom(stored)
    expected.ClearField("artifacts")
    assert short.tasks[0] == expected
    assert len(stored.artifacts) == 1
