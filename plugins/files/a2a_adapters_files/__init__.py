"""Large files by reference: stores them on the server, and uploads and downloads them by stream.

`serve(agent, options=ServerOptions(files=FileStore("files/", secret=...)))` replaces large files in
artifacts by links, and lets clients upload large files before they send a message. `RemoteAgent`
uploads by itself; `download` and `save` read linked files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a_adapters.plugin import hookimpl, lazy_names
from a2a_adapters_files.extension import FILES_EXTENSION

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    import httpx
    from a2a.types import AgentCard

    from a2a_adapters import Part
    from a2a_adapters.dialects import DialectRoutes, DialectServer
    from a2a_adapters_files.calling.download import download, save
    from a2a_adapters_files.calling.upload import LocalFile
    from a2a_adapters_files.serving.store import FileStore

__all__ = ["FILES_EXTENSION", "FileStore", "LocalFile", "download", "save"]

_calling = lazy_names(
    __name__,
    {"LocalFile": "calling.upload", "download": "calling.download", "save": "calling.download"},
)
_serving = lazy_names(
    __name__, {"FileStore": "serving.store"}, frameworks=["obstore"], extra="files"
)


def __getattr__(name: str) -> Any:
    return _serving(name) if name == "FileStore" else _calling(name)


@hookimpl
def a2a_routes(dialect: object, server: DialectServer) -> DialectRoutes | None:
    """Return the routes for uploads and downloads of a `FileStore`."""
    if type(dialect).__module__ != f"{__name__}.serving.store":
        return None
    from a2a_adapters_files.serving.routes import file_routes  # noqa: PLC0415
    from a2a_adapters_files.serving.store import FileStore  # noqa: PLC0415

    return file_routes(dialect, server) if isinstance(dialect, FileStore) else None


@hookimpl
def a2a_upload(
    parts: Sequence[Part], card: AgentCard, http: httpx.AsyncClient
) -> Awaitable[Sequence[Part]] | None:
    """Upload large files to agents that declare the extension."""
    from a2a_adapters_files.calling.upload import uploaded  # noqa: PLC0415

    return uploaded(parts, card, http)
