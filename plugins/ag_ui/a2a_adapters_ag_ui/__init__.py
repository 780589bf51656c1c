"""AG-UI: serves agents to its front ends, such as CopilotKit, and calls AG-UI endpoints.

`serve(agent, dialects=["ag-ui"])` answers `@ag-ui/client` under `/ag-ui`, and
`serve("ag-ui:https://agents.example.com/agent")` serves an AG-UI endpoint as an A2A agent. Agents
use `FrontEnd` to share state with the user interface and to call its tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters import MissingExtraError
from a2a_adapters.plugin import hookimpl, lazy_names

if TYPE_CHECKING:
    from a2a_adapters.dialects import DialectRoutes, DialectServer
    from a2a_adapters_ag_ui.calling.agent import AgUiAgent
    from a2a_adapters_ag_ui.front_end import FrontEnd

__all__ = ["AgUiAgent", "FrontEnd"]

_NAME = "ag-ui"

__getattr__ = lazy_names(__name__, {"AgUiAgent": "calling.agent", "FrontEnd": "front_end"})


@hookimpl
def a2a_routes(dialect: object, server: DialectServer) -> DialectRoutes | None:
    """Return the routes for AG-UI's clients."""
    if dialect != _NAME:
        return None
    try:
        from a2a_adapters_ag_ui.serving.routes import ag_ui_routes  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise MissingExtraError("the dialect ag-ui", _NAME) from error
    return ag_ui_routes(server)


@hookimpl
def a2a_target(word: str) -> object | None:
    """Return the agent of `ag-ui:URL`."""
    kind, colon, rest = word.partition(":")
    if kind != _NAME or not colon:
        return None
    try:
        from a2a_adapters_ag_ui.calling.agent import AgUiAgent  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise MissingExtraError("the agent ag-ui:", _NAME) from error
    return AgUiAgent.of_word(rest)
