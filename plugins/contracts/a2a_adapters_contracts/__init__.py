"""The contract of adapters, as tests; `a2a_adapters.testing` has the same names."""

from __future__ import annotations

from a2a_adapters_contracts.adapters import (
    AdapterContract,
    AnswerContract,
    InputRequiredContract,
    OnSqlite,
    OnStorage,
    ToolContract,
)
from a2a_adapters_contracts.resuming import ResumeContract

__all__ = [
    "AdapterContract", "AnswerContract", "InputRequiredContract", "OnSqlite", "OnStorage",
    "ResumeContract", "ToolContract",
]  # fmt: skip
