"""Serves a target in a thread, beside a notebook or a script."""

from __future__ import annotations

import asyncio
import atexit
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Self

from a2a_adapters.contract.checking import check_arguments
from a2a_adapters.serving.app import build_app
from a2a_adapters.serving.server import Server, check_storage, options_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from a2a_adapters.contract.card import Card
    from a2a_adapters.serving.options import ServerOptions
    from a2a_adapters.serving.server import OnStart

__all__ = ["BackgroundServer", "serve_in_background"]


def serve_in_background(  # noqa: PLR0913 - a choice each
    target: object,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    name: str | None = None,
    description: str | None = None,
    card: Card | None = None,
    url: str | None = None,
    options: ServerOptions | None = None,
    storage: str | None = None,
    dialects: Sequence[object] = (),
    allow_unauthenticated: bool = False,
) -> BackgroundServer:
    """Serve `target` in a thread with its own event loop, and return once it answers.

    Both synchronous and asynchronous code can then call the agent, as in a notebook or a script:

        with serve_in_background(target) as agent:
            print(RemoteAgent(agent.url).send_sync("Hello").text)

    The arguments and errors are those of `aserve`, but `port` is a free one by default. The log of
    the process is left as it is.
    """
    check_arguments(serve_in_background, locals())

    def make(on_start: OnStart) -> Server:
        chosen = options_for(host, options, storage, allow_unauthenticated=allow_unauthenticated)
        asyncio.run(check_storage(chosen))
        app = build_app(
            target,
            name=name,
            description=description,
            card=card,
            url=url,
            options=chosen,
            dialects=dialects,
        )
        return Server(app, host, port, chosen, on_start)

    return BackgroundServer(make)


class BackgroundServer:
    """A server in a thread of its own, which stops with its `with` block, or with the program.

    Attributes:
        url: The address of the agent, or the common base address of several agents.
    """

    url: str

    def __init__(self, make: Callable[[OnStart], Server]) -> None:
        self._started: Future[str] = Future()
        self._server: Server | None = None
        self._thread = threading.Thread(
            target=self._run, args=(make,), name="a2a-adapters-server", daemon=True
        )
        self._thread.start()
        atexit.register(self.stop)
        try:
            self.url = self._started.result()
        except BaseException:
            self.stop()
            raise

    def _run(self, make: Callable[[OnStart], Server]) -> None:
        try:
            self._server = make(lambda roots, _: self._started.set_result(roots[0]))
            self._server.run()
        except BaseException as error:
            if self._started.done():
                raise
            self._started.set_exception(error)

    def stop(self) -> None:
        """End the running tasks and stop the server; return when it has stopped."""
        atexit.unregister(self.stop)
        if self._server is not None:
            self._server.should_exit = True
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
