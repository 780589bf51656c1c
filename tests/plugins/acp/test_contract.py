"""The contract of every adapter, for coding agents."""

from __future__ import annotations

import pytest

from a2a_adapters.testing import AdapterContract, OnSqlite
from tests.plugins.acp.support import scripted


class TestAcpAgent(AdapterContract):
    @pytest.fixture(autouse=True)
    def in_folder(self, tmp_path):
        self.folder = tmp_path / "work"

    def echo(self):
        return scripted(self.folder)

    def silent(self):
        return scripted(self.folder, "silent")

    def failing(self):
        return scripted(self.folder, "failing")

    def failing_midway(self):
        return scripted(self.folder, "midway")

    def endless(self):
        return scripted(self.folder, "endless")


class TestAcpAgentOnSqlite(OnSqlite, TestAcpAgent):
    pass
