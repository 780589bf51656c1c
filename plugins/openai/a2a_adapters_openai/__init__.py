"""An OpenAI-compatible API in front of every served agent.

`serve(agent, dialects=["openai"])` answers clients of Chat Completions and Responses under `/v1`:
each agent is a model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.plugin import hookimpl

if TYPE_CHECKING:
    from a2a_adapters.dialects import DialectRoutes, DialectServer

__all__: list[str] = []

_DIALECT = "openai"


@hookimpl
def a2a_routes(dialect: object, server: DialectServer) -> DialectRoutes | None:
    """Return the routes of the OpenAI-compatible API."""
    if dialect != _DIALECT:
        return None
    from a2a_adapters_openai.routes import openai_routes  # noqa: PLC0415 - imports a2a-sdk

    return openai_routes(server)
