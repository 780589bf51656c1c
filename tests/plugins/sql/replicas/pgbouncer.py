"""A real PgBouncer for tests, before the PostgreSQL of the tests."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.support.postgresql import new_database

BINARY = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


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
