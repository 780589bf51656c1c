"""Workflows of DBOS fulfil the contracts of adapters, with DBOS on SQLite and PostgreSQL."""

from __future__ import annotations

import pytest

from a2a_adapters.testing import AdapterContract, InputRequiredContract, OnSqlite
from tests.plugins.dbos import support
from tests.support.agents.contracts import OnPostgresql
from tests.support.agents.isolation import check_asking


@pytest.fixture(scope="module", params=["sqlite", "postgresql"], autouse=True)
def dbos(request, tmp_path_factory):
    """DBOS with a new database."""
    url = f"sqlite:///{tmp_path_factory.mktemp('dbos')}/dbos.db"
    if request.param == "postgresql":
        from tests.support.postgresql import new_database

        url = new_database()
    with support.launched(url):
        yield


class Workflows(AdapterContract, InputRequiredContract):
    secret = support.SECRET

    def echo(self):
        return support.echo

    def silent(self):
        return support.silent

    def failing(self):
        return support.failing

    def failing_midway(self):
        return support.failing_midway

    def endless(self):
        return support.endless

    def asking(self):
        return support.asking


class TestWorkflows(Workflows):
    @pytest.mark.thorough
    async def test_many_callers_with_one_context_id_reach_their_own_workflows(self):
        await check_asking(self.storage(), support.asking)


class TestWorkflowsOnSqlite(OnSqlite, Workflows):
    pass


class TestWorkflowsOnPostgresql(OnPostgresql, Workflows):
    pass
