"""An agent process with its session."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from acp import PROTOCOL_VERSION, RequestError
from acp.client.connection import ClientSideConnection
from acp.schema import (
    ClientCapabilities,
    FileSystemCapabilities,
    Implementation,
    PromptCapabilities,
    PromptResponse,
)
from pydantic import ValidationError

from a2a_adapters.concurrency import ProcessTree
from a2a_adapters.dialects import quote
from a2a_adapters.plugin import AgentFailedError
from a2a_adapters_acp.lines import Lines
from a2a_adapters_acp.serving.client import Asked, SessionClient
from a2a_adapters_acp.serving.updates import is_read

if TYPE_CHECKING:
    from acp.schema import HttpMcpServer, McpServerStdio

    from a2a_adapters_acp.serving.content import Block
    from a2a_adapters_acp.serving.permissions import Permissions
    from a2a_adapters_acp.serving.updates import Update

_AUTH_REQUIRED = -32000
_CANCEL_SECONDS = 3.0
_EXIT_SECONDS = 2.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """The settings for starting an agent.

    Attributes:
        command: The program and its arguments.
        env: The complete environment.
        permissions: The agent's permissions.
        mcp_servers: MCP servers for the agent.
        start_seconds: Time limit for the start.
        sign_in: Advice for an operator who is not signed in.
    """

    command: Sequence[str]
    env: Mapping[str, str]
    permissions: Permissions
    mcp_servers: Sequence[McpServerStdio | HttpMcpServer]
    start_seconds: float
    sign_in: str


class Session:
    """An agent's process and session. It handles one prompt at a time.

    Attributes:
        folder: The working folder, resolved.
        prompt_capabilities: The kinds of content that the agent supports besides text.
        is_lost: Whether this session is new because an earlier one could not be loaded.
        has_history: Whether the agent knows the earlier messages.
        can_load: Whether the session can be loaded in another process.

    Args:
        launch: The settings for the start.
    """

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self.folder = Path()
        self._client = SessionClient(launch.permissions)
        self._tree: ProcessTree | None = None
        self._connection: ClientSideConnection | None = None
        self._prompting: asyncio.Task[PromptResponse] | None = None
        self.prompt_capabilities = PromptCapabilities()
        self.is_lost = False
        self.has_history = False
        self.can_load = False

    @property
    def id(self) -> str:
        """The session's id."""
        return self._client.session_id

    @property
    def is_open(self) -> bool:
        """Whether the process is running."""
        return self._tree is not None and self._tree.process.returncode is None

    @property
    def is_prompted(self) -> bool:
        """Whether a turn is in progress."""
        return self._prompting is not None

    async def open(self, folder: Path, session_id: str) -> None:
        """Start the agent, and load a session or create one.

        Args:
            folder: The working folder, resolved.
            session_id: The session to load; "" for a new one.

        Raises:
            AgentFailedError: The agent cannot be started. The session still has to be closed.
        """
        self.folder = self._client.folder = folder
        try:
            self._tree = await ProcessTree.start(
                self._launch.command, env=self._launch.env, cwd=self.folder
            )
        except (OSError, ValueError) as error:
            raise AgentFailedError from error
        process = self._tree.process
        assert process.stdout is not None  # noqa: S101 - they are pipes
        assert process.stdin is not None  # noqa: S101
        lines = Lines(process.stdout, process.stdin, is_useful=is_read, ready=self._client.ready)
        self._connection = ClientSideConnection(cast("Any", self._client), lines)
        try:
            async with asyncio.timeout(self._launch.start_seconds):
                await self._begin(self._connection, session_id)
        except TimeoutError as error:
            raise AgentFailedError("internal", "The coding agent did not start in time.") from error
        except (ConnectionError, RequestError, ValidationError) as error:
            raise self._failure(error) from error

    async def prompt(
        self, blocks: Sequence[Block], granted: set[str]
    ) -> AsyncGenerator[Update | Asked | PromptResponse]:
        """Yield the updates and requests for permission of a turn, then its response.

        Args:
            blocks: The prompt.
            granted: Fingerprints of the tool calls to allow, once each.

        Raises:
            AgentFailedError: The agent failed.
        """
        assert self._connection is not None  # noqa: S101 - it is open
        turn = self._client.begin(granted)
        asking = self._connection.prompt(session_id=self.id, prompt=list(blocks))
        self._prompting = prompting = asyncio.ensure_future(asking)
        async for news in self._client.news(turn, prompting):
            yield news
        try:
            response = await prompting
        except (ConnectionError, RequestError, ValidationError) as error:
            raise self._failure(error) from error
        self._client.end()
        self._prompting = None
        self.has_history, self.is_lost = True, False
        yield response

    async def close(self) -> None:
        """Cancel the current turn, and kill the process with its descendants."""
        self._client.end()
        if self._tree is None:
            return
        if self._connection is not None and self._prompting is not None:
            await self._cancel(self._connection, self._prompting)
        await asyncio.gather(self._client.terminals.aclose(), self._tree.end(_EXIT_SECONDS))
        if self._connection is not None:
            await self._connection.close()

    async def _begin(self, connection: ClientSideConnection, session_id: str) -> None:
        about = await connection.initialize(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=ClientCapabilities(
                fs=FileSystemCapabilities(read_text_file=True, write_text_file=True),
                terminal=self._launch.permissions.allows_terminals,
            ),
            client_info=Implementation(name="a2a-adapters", version=version("a2a-adapters")),
        )
        can = about.agent_capabilities
        self.prompt_capabilities = (can and can.prompt_capabilities) or PromptCapabilities()
        folder = str(self.folder)
        self.can_load = bool(can and can.load_session)
        if session_id and self.can_load:
            self._client.session_id = session_id
            # What the agent replays of the conversation comes outside of a turn, and is dropped.
            with suppress(RequestError, ValidationError):
                await connection.load_session(
                    cwd=folder, session_id=session_id, mcp_servers=list(self._launch.mcp_servers)
                )
                self.has_history = True
                return
        self.is_lost = bool(session_id)
        created = await connection.new_session(
            cwd=folder, mcp_servers=list(self._launch.mcp_servers)
        )
        self._client.session_id = created.session_id

    async def _cancel(
        self, connection: ClientSideConnection, prompting: asyncio.Task[PromptResponse]
    ) -> None:
        with suppress(ConnectionError, OSError):
            async with asyncio.timeout(_CANCEL_SECONDS):
                if not prompting.done():
                    await connection.cancel(session_id=self.id)
                await asyncio.wait({prompting})
        prompting.cancel()
        await asyncio.wait({prompting})
        if not prompting.cancelled():
            prompting.exception()

    def _failure(self, error: Exception) -> AgentFailedError:
        """Return an error without details for the caller, and log the details."""
        log = quote(self._tree.log, 500) if self._tree else ""
        logger.error("the coding agent failed: %s%s", quote(str(error), 500), log and f"; {log}")
        if isinstance(error, RequestError) and error.code == _AUTH_REQUIRED:
            logger.error("sign in: %s", self._launch.sign_in)
            return AgentFailedError("model_refused", "The coding agent is not signed in.")
        return AgentFailedError()
