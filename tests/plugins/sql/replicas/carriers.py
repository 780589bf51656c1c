"""Carriers of bus messages, and disturbances of them for tests."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager

import psycopg
from redis import Redis

from tests.plugins.sql.replicas.redis_server import redis_url


class Postgresql:
    """The database itself."""

    bus = None

    def __init__(self, url):
        self._url = url

    def cut_listeners(self):
        self._end("LISTEN%", "SELECT 1")  # they probe with it

    def cut_senders(self):
        self._end("SELECT pg_notify%")

    def _end(self, *queries):
        """End the connections whose last statement matched one of these."""
        self._execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
            "datname = current_database() AND pid <> pg_backend_pid() AND query LIKE ANY(%s)",
            list(queries),
        )

    def send(self, process, payload):
        self._execute("SELECT pg_notify(%s, %s)", process, payload)

    def _execute(self, statement, *values):
        with psycopg.connect(self._url, autocommit=True) as connection:
            return connection.execute(statement, values).fetchall()

    @contextmanager
    def frozen(self):
        """Freeze the bus without closing connections."""
        found = self._execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
            "AND (query LIKE 'LISTEN%%' OR query = 'SELECT 1')"
        )
        with stopped(pid for (pid,) in found):
            yield


class OverRedis:
    """A Redis beside the database."""

    def __init__(self, _url):
        self.bus = redis_url()

    def cut_listeners(self):
        self._call(lambda redis: redis.client_kill_filter(_type="pubsub"))

    def cut_senders(self):
        self._call(lambda redis: redis.client_kill_filter(_type="normal", skipme=True))

    def send(self, process, payload):
        """Publish a payload, text or bytes."""
        self._call(lambda redis: redis.publish(f"a2a-adapters:{process}", payload))

    def _call(self, do):
        with Redis.from_url(self.bus) as redis:
            return do(redis)

    @contextmanager
    def frozen(self):
        """Freeze the server without closing connections."""
        with stopped([self._call(lambda redis: redis.info("server"))["process_id"]]):
            yield


@contextmanager
def stopped(pids):
    """Suspend processes for a while."""
    pids = list(pids)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


CARRIERS = {"postgresql": Postgresql, "redis": OverRedis}
