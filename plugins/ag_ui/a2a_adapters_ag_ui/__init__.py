"""AG-UI: serves agents to its front ends, such as CopilotKit.

`serve(agent, dialects=["ag-ui"])` answers `@ag-ui/client` under `/ag-ui`. Agents use `FrontEnd` to
share state with the user interface and to call its tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters import MissingExtraError, hookimpl, lazy_names

if TYPE_CHECKING:
    from a2a_adapters.dialects import DialectRoutes, DialectServer
    from a2a_adapters_ag_ui.front_end import FrontEnd

__all__ = ["FrontEnd"]

_NAME = "ag-ui"

__getattr__ = lazy_names(__name__, {"FrontEnd": "front_end"})


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
