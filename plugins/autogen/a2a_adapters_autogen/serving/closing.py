"""Closes what was made for one run: agents, the servers of workbenches, model clients."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from autogen_agentchat.base import ChatAgent
from autogen_core.tools import Workbench

from a2a_adapters.concurrency import Background
from a2a_adapters_autogen.serving.runners import Runner, end_bench, family, resources

if TYPE_CHECKING:
    from collections.abc import Coroutine

_SECONDS = 10.0

logger = logging.getLogger(__name__)


class Closer:
    """Closes in the background: no answer waits for it, and no cancel cuts it short."""

    def __init__(self) -> None:
        self._closing = Background()

    def close(self, runner: Runner, example: Runner) -> None:
        """Close a runner, but for what it shares with `example`."""
        self._closing.begin(_close(runner, example))

    async def wait(self) -> None:
        """Wait until everything is closed."""
        while await self._closing.wait():
            pass


async def _close(runner: Runner, example: Runner) -> None:
    for member in family(runner):
        if isinstance(member, ChatAgent):
            await _finish(member.close(), member)
    shared = {id(resource) for resource in resources(example)}
    own = {id(resource): resource for resource in resources(runner) if id(resource) not in shared}
    for resource in own.values():
        if isinstance(resource, Workbench):
            await _finish(end_bench(resource), resource)
        else:
            await _finish(resource.close(), resource)


async def _finish(closing: Coroutine[None, None, None], what: object) -> None:
    """Let something close, for so long at most; its failure keeps nothing else open."""
    try:
        async with asyncio.timeout(_SECONDS):
            await closing
    except Exception:
        logger.warning("a %s of a run could not be closed", type(what).__name__, exc_info=True)
