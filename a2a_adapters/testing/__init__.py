"""Helpers for plugin authors: the adapter contract as tests, and an in-process server.

Subclass the contracts, return targets with the described behaviour, and run the tests with
pytest-asyncio in auto mode:

    class TestMyFramework(AdapterContract):
        def echo(self):
            return MyAgent(lambda text: text)
        ...

    class TestMyFrameworkOnSqlite(OnSqlite, TestMyFramework): ...
"""

from __future__ import annotations

from a2a_adapters.testing.contract import (
    AdapterContract,
    InputRequiredContract,
    OnSqlite,
    OnStorage,
    ToolContract,
)
from a2a_adapters.testing.local import (
    answer_of,
    as_user,
    connect,
    running,
    send,
    stream,
    user_message,
)
from a2a_adapters.testing.resuming import ResumeContract

__all__ = [
    "AdapterContract", "InputRequiredContract", "OnSqlite", "OnStorage", "ResumeContract",
    "ToolContract", "answer_of", "as_user", "connect", "running", "send", "stream",
    "user_message",
]  # fmt: skip
