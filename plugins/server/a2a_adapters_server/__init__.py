"""Commands for operators (`serve`, `config`, `init`, `plugins`), and a page and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters import MissingExtraError
from a2a_adapters.plugin import hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_adapters.contract.dialect_routes import DialectRoutes, DialectServer
    from a2a_adapters.observability.figures import ProcessFigures

__all__: list[str] = []


@hookimpl(tryfirst=True)  # no other plugin replaces them
def a2a_commands() -> Mapping[str, str]:
    """Return the commands of a server's operator."""
    return {
        "serve": "a2a_adapters_server.serve:serve",
        "config": "a2a_adapters_server.config:config",
        "init": "a2a_adapters_server.init:init",
        "plugins": "a2a_adapters_server.plugins:plugins",
        "completion": "a2a_adapters_server.completion:completion",
    }


@hookimpl
def a2a_routes(dialect: object, server: DialectServer) -> DialectRoutes | None:
    """Return the page at the server's root, the metrics, or the check of a platform."""
    from a2a_adapters.observability.figures import ProcessFigures  # noqa: PLC0415 - for servers

    if isinstance(dialect, ProcessFigures):
        return _metrics(dialect)
    if dialect == "agentcore":
        from a2a_adapters_server.agentcore import agentcore_routes  # noqa: PLC0415 - as below

        return agentcore_routes(server)
    if dialect != "page":
        return None
    from a2a_adapters_server.page import page_routes  # noqa: PLC0415 - needs Starlette

    return page_routes(server)


def _metrics(figures: ProcessFigures) -> DialectRoutes:
    try:
        from a2a_adapters_server.metrics import metrics_routes  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("/metrics", "metrics") from error
    return metrics_routes(figures)
