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

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from a2a_adapters.testing.local import (
    answer_of,
    as_user,
    connect,
    running,
    send,
    stream,
    user_message,
)

if TYPE_CHECKING:
    from a2a_adapters_contracts import (
        AdapterContract,
        AnswerContract,
        InputRequiredContract,
        OnSqlite,
        OnStorage,
        ResumeContract,
        ToolContract,
    )

__all__ = [
    "AdapterContract", "AnswerContract", "InputRequiredContract", "OnSqlite", "OnStorage",
    "ResumeContract", "ToolContract", "answer_of", "as_user", "connect", "running", "send",
    "stream", "user_message",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name in __all__:
        return getattr(_import_module("a2a_adapters_contracts"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
