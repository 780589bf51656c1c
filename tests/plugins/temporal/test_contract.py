"""Workflows of Temporal fulfil the contracts of adapters."""

from __future__ import annotations

import pytest
from a2a_adapters_temporal import TemporalWorkflow

from a2a_adapters.testing import AdapterContract, InputRequiredContract, OnSqlite
from tests.plugins.temporal import support
from tests.support.agents.contracts import OnPostgresql
from tests.support.agents.isolation import check_asking

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.filterwarnings("ignore:.*TMPRL1102.*stream_poll"),
]


class Workflows(AdapterContract, InputRequiredContract):
    secret = support.SECRET

    @pytest.fixture(autouse=True)
    def connected(self, temporal):
        self.temporal = temporal

    def served(self, kind):
        return TemporalWorkflow(self.temporal, kind.run, task_queue=support.QUEUE)

    def echo(self):
        return self.served(support.Echo)

    def silent(self):
        return self.served(support.Silent)

    def failing(self):
        return self.served(support.Failing)

    def failing_midway(self):
        return self.served(support.FailingMidway)

    def endless(self):
        return self.served(support.Endless)

    def asking(self):
        return self.served(support.Asking)


class TestWorkflows(Workflows):
    async def test_many_callers_with_one_context_id_reach_their_own_workflows(self):
        await check_asking(self.storage(), self.asking())


class TestWorkflowsOnSqlite(OnSqlite, Workflows):
    pass


class TestWorkflowsOnPostgresql(OnPostgresql, Workflows):
    pass
