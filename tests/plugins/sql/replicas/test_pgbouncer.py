"""PgBouncer: session mode works, transaction mode is refused at startup."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from a2a.types import CancelTaskRequest, TaskState
from psycopg.conninfo import conninfo_to_dict

from a2a_adapters import ConfigurationError
from tests.plugins.sql.conftest import storage_at
from tests.plugins.sql.replicas.test_shared import ANN, Replica
from tests.support.postgresql import new_database

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(5 * 60)]

BINARY = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


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


@contextmanager
def pgbouncer(mode):
    """Yield the URL of an empty database behind a PgBouncer in this pool mode."""
    if BINARY is None:
        reason = "pgbouncer is missing: apt-get install pgbouncer"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    place = conninfo_to_dict(new_database())
    owner = pwd.getpwuid(Path(place["host"]).stat().st_uid)
    folder = Path(tempfile.mkdtemp(prefix="a2a-pgbouncer-"))
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\n* = host={place['host']} user={place['user']}\n"
        f"[pgbouncer]\nlisten_addr =\nlisten_port = 6432\nunix_socket_dir = {folder}\n"
        f"auth_type = any\npool_mode = {mode}\n"
    )
    os.chown(folder, owner.pw_uid, owner.pw_gid)
    own = owner.pw_uid == os.getuid()
    command = [BINARY, *([] if own else ["-u", owner.pw_name]), settings]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        for line in server.stderr:
            if "process up" in line:
                break
        yield f"postgresql://{place['user']}@/{place['dbname']}?host={folder}&port=6432"
    finally:
        server.kill()
        server.communicate()
        shutil.rmtree(folder)
