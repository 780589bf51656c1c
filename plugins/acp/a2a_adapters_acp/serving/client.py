"""The client side of the protocol: updates, permissions, files and terminals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp import RequestError
from acp.schema import (
    AllowedOutcome,
    CreateTerminalResponse,
    DeniedOutcome,
    EnvVariable,
    KillTerminalResponse,
    PermissionOption,
    PromptResponse,
    ReadTextFileResponse,
    ReleaseTerminalResponse,
    RequestPermissionResponse,
    TerminalOutputResponse,
    ToolCallUpdate,
    WaitForTerminalExitResponse,
    WriteTextFileResponse,
)

from a2a_adapters.plugin import AgentFailedError
from a2a_adapters_acp.serving.paths import inside, opened
from a2a_adapters_acp.serving.permissions import (
    PROTECTED,
    Permissions,
    fingerprint,
    is_presentable,
    option_for,
)
from a2a_adapters_acp.serving.terminals import Terminals

if TYPE_CHECKING:
    from a2a_adapters_acp.serving.updates import Update

_MOST_WAITING = 100
_MOST_REFUSALS = 50
_MOST_OPEN = 16
_FILE_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for permission with its pending answer.

    Attributes:
        call: The tool call.
        options: The possible answers.
        answer: The chosen option's id; None cancels the request.
    """

    call: ToolCallUpdate
    options: Sequence[PermissionOption]
    answer: asyncio.Future[str | None]


@dataclass(slots=True)
class OpenTurn:
    """A turn whose prompt is being answered.

    Attributes:
        news: Updates and requests in order, then None.
        open: The unanswered requests for permission.
        granted: Fingerprints of calls that the caller has already allowed.
        refusals: The number of denied requests.
    """

    news: asyncio.Queue[Update | Asked | None] = field(default_factory=asyncio.Queue)
    open: set[asyncio.Future[str | None]] = field(default_factory=set)
    granted: set[str] = field(default_factory=set)
    refusals: int = 0

    def close(self) -> None:
        """Cancel the unanswered requests for permission."""
        for answer in self.open:
            if not answer.done():
                answer.set_result(None)


class SessionClient:
    """Handles the requests of one session.

    Requests outside a turn are refused, so that a cancelled turn cannot change anything.

    Args:
        permissions: The agent's permissions.
    """

    def __init__(self, permissions: Permissions) -> None:
        self.folder = Path()
        self.terminals = Terminals()
        self._permissions = permissions
        self._turn: OpenTurn | None = None
        self._has_room = asyncio.Event()
        self._has_room.set()
        self.session_id = ""

    async def ready(self) -> None:
        """Wait while a turn has many unread updates."""
        await self._has_room.wait()

    def begin(self, granted: set[str]) -> OpenTurn:
        """Start a turn."""
        self._turn = OpenTurn(granted=granted)
        return self._turn

    def end(self) -> None:
        """End the turn."""
        if self._turn is not None:
            self._turn.close()
        self._turn = None
        self._has_room.set()

    async def news(
        self, turn: OpenTurn, prompting: asyncio.Task[PromptResponse]
    ) -> AsyncGenerator[Update | Asked]:
        """Yield the updates and requests of a turn until its prompt is answered.

        Raises:
            AgentFailedError: The agent keeps repeating denied requests.
        """
        prompting.add_done_callback(lambda _: turn.news.put_nowait(None))
        while (news := await turn.news.get()) is not None:
            if turn.news.qsize() < _MOST_WAITING:
                self._has_room.set()
            yield news
        if turn.refusals > _MOST_REFUSALS:
            raise AgentFailedError("limit", "The agent insists on tools that it may not use.")

    async def session_update(self, session_id: str, update: Update, **_: Any) -> None:
        """Receive an update."""
        if (turn := self._turn) is not None and session_id == self.session_id:
            turn.news.put_nowait(update)
            if turn.news.qsize() >= _MOST_WAITING:
                self._has_room.clear()

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        """Decide by the rules, or ask the caller."""
        turn = self._turn
        if turn is None or session_id != self.session_id:
            return _outcome(None)
        turn.news.put_nowait(tool_call)
        verdict = self._permissions.verdict(tool_call, self.folder)
        mark = fingerprint(tool_call)
        if verdict == "ask" and mark in turn.granted:
            turn.granted.discard(mark)
            verdict = "allow"
        can_ask = len(turn.open) < _MOST_OPEN and is_presentable(tool_call, options)
        if verdict == "ask" and not can_ask:
            verdict = "deny"
        if verdict == "ask":
            answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
            turn.open.add(answer)
            turn.news.put_nowait(Asked(tool_call, options, answer))
            chosen = await answer
            turn.open.discard(answer)
        else:
            chosen = option_for(options, is_allowed=verdict == "allow")
        if self._turn is not turn:
            return _outcome(None)
        if not any(o.option_id == chosen and o.kind.startswith("allow") for o in options):
            turn.refusals += 1
            if turn.refusals > _MOST_REFUSALS:
                turn.news.put_nowait(None)
        return _outcome(chosen)

    async def read_text_file(
        self,
        session_id: str,
        path: str,
        line: int | None = None,
        limit: int | None = None,
        **_: Any,
    ) -> ReadTextFileResponse:
        """Read a file in the working folder."""
        file = self._file(session_id, path, "read")
        try:
            if file.stat().st_size > _FILE_BYTES:
                raise RequestError.invalid_params({"details": "the file is too large"})
            text = await asyncio.to_thread(_text_of, file, self.folder)
        except OSError as error:
            raise RequestError.resource_not_found(path) from error
        if line is not None or limit is not None:
            first = max((line or 1) - 1, 0)
            last = None if limit is None else first + limit
            text = "".join(text.splitlines(keepends=True)[first:last])
        return ReadTextFileResponse(content=text)

    async def write_text_file(
        self, session_id: str, path: str, content: str, **_: Any
    ) -> WriteTextFileResponse:
        """Write a file in the working folder."""
        file = self._file(session_id, path, "edit")
        if PROTECTED in file.relative_to(self.folder).parts:
            raise RequestError.invalid_params({"details": "the folder .git is protected"})
        try:
            with opened(file, self.folder, "w") as target:
                target.write(content)  # not in a thread: the turn may end meanwhile
        except OSError as error:
            raise RequestError.invalid_params({"details": "the file cannot be written"}) from error
        return WriteTextFileResponse()

    async def create_terminal(
        self,
        session_id: str,
        command: str,
        args: list[str] | None = None,
        env: list[EnvVariable] | None = None,
        cwd: str | None = None,
        output_byte_limit: int | None = None,
        **_: Any,
    ) -> CreateTerminalResponse:
        """Run a command in the working folder if the rules allow it without asking."""
        turn = self._open_turn(session_id)
        if not self._permissions.allows_terminals:
            raise RequestError.method_not_found("terminal/create")
        terminal_id = await self.terminals.create(
            [command, *(args or ())],
            env={each.name: each.value for each in env or ()},
            cwd=cwd or ".",
            folder=self.folder,
            limit=output_byte_limit,
        )
        if self._turn is not turn:
            await self.terminals.release(terminal_id)
            raise RequestError.invalid_request({"details": "there is no turn"})
        return CreateTerminalResponse(terminal_id=terminal_id)

    async def terminal_output(self, terminal_id: str, **_: Any) -> TerminalOutputResponse:
        """Return a command's output so far."""
        return self.terminals.get(terminal_id).output

    async def wait_for_terminal_exit(
        self, terminal_id: str, **_: Any
    ) -> WaitForTerminalExitResponse:
        """Wait for a command to exit."""
        status = await self.terminals.get(terminal_id).wait()
        return WaitForTerminalExitResponse(exit_code=status.exit_code, signal=status.signal)

    async def kill_terminal(self, terminal_id: str, **_: Any) -> KillTerminalResponse:
        """Kill a command and keep its output."""
        await self.terminals.get(terminal_id).end()
        return KillTerminalResponse()

    async def release_terminal(self, terminal_id: str, **_: Any) -> ReleaseTerminalResponse:
        """Kill a command and discard its output."""
        await self.terminals.release(terminal_id)
        return ReleaseTerminalResponse()

    def _open_turn(self, session_id: str) -> OpenTurn:
        if self._turn is None or session_id != self.session_id:
            raise RequestError.invalid_request({"details": "there is no turn"})
        return self._turn

    def _file(self, session_id: str, path: str, kind: str) -> Path:
        self._open_turn(session_id)
        if kind in self._permissions.deny:
            raise RequestError.invalid_params({"details": "not permitted"})
        file = inside(path, self.folder)
        if file is None or not Path(path).is_absolute():
            raise RequestError.invalid_params({"details": "the path is not in the working folder"})
        if file.exists() and not file.is_file():  # opening a named pipe would block
            raise RequestError.invalid_params({"details": "the path is not a regular file"})
        return file


def _text_of(file: Path, folder: Path) -> str:
    with opened(file, folder, "r") as source:
        return source.read()


def _outcome(option_id: str | None) -> RequestPermissionResponse:
    return RequestPermissionResponse(
        outcome=DeniedOutcome(outcome="cancelled")
        if option_id is None
        else AllowedOutcome(outcome="selected", option_id=option_id)
    )
