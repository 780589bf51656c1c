"""PgBouncer: session mode works, transaction mode is refused at startup."""

from __future__ import annotations

import pytest
from a2a.types import CancelTaskRequest, TaskState

from a2a_adapters import ConfigurationError
from tests.plugins.sql.conftest import storage_at
from tests.plugins.sql.replicas.pgbouncer import pgbouncer
from tests.plugins.sql.replicas.test_shared import ANN, Replica

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(5 * 60)]


async def test_transaction_mode_is_refused_at_startup():
    refused = pytest.raises(ConfigurationError, match="PgBouncer's transaction mode")
    with pgbouncer("transaction") as url, refused as error:
        await storage_at(url).start()
    assert "\n" not in str(error.value)


async def test_in_session_mode_a_task_elsewhere_is_read_and_cancelled():
    with pgbouncer("session") as url:
        async with Replica(url).running() as one, Replica(url).running() as other:
            task = await one.begin()
            assert (await other.get(task)).id == task.id
            request = CancelTaskRequest(id=task.id)
            cancelled = await other.runtime.on_cancel_task(request, ANN)
            assert cancelled.status.state == TaskState.TASK_STATE_CANCELED
            await one.agent.was_stopped.wait()
