"""The error envelope that commands print as JSON (a2a-cli 0.2, appendix D)."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as programs read it.

    Attributes:
        code: The name of the A2A error, or an `A2ACLI_ERR_*` if no agent was reached.
        message: The text.
        exit_code: The exit code of the command.
        hint: Suggests what to do.
        protocol_code: The code of the binding, if the agent sent one.
    """

    code: str
    message: str
    exit_code: int
    hint: str | None = None
    protocol_code: int | None = None

    def to_json(self) -> str:
        """Return the error envelope on one line."""
        about = {"code": self.code, "message": self.message}
        return json.dumps({"error": about | {"hint": self.hint, "a2aCode": self.protocol_code}})
