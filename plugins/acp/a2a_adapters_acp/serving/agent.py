"""The adapter for coding agents."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from acp.schema import HttpMcpServer, McpServerStdio

from a2a_adapters import AgentEvent, AgentRequest, ConfigurationError
from a2a_adapters.concurrency import basic_environment
from a2a_adapters.plugin import ANOTHER_TASK_WAITS, Adapter, AgentDescription, check_arguments
from a2a_adapters_acp.serving.content import check
from a2a_adapters_acp.serving.folders import Folders, Worktrees
from a2a_adapters_acp.serving.known import KNOWN, Known, read_word
from a2a_adapters_acp.serving.permissions import Permissions
from a2a_adapters_acp.serving.session import Launch
from a2a_adapters_acp.serving.sessions import Sessions
from a2a_adapters_acp.serving.turn import Turn

if TYPE_CHECKING:
    from a2a_adapters.plugin import StateStorage

__all__ = ["AcpAgent"]

Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]


class AcpAgent(Adapter):
    """Serves a coding agent that speaks the Agent Client Protocol over stdio.

    Each conversation has its own process and session. After a restart the session is loaded again
    if the agent supports that. When a turn is cancelled or fails, its process and all its
    descendants are killed. A process that waits for the caller's answer is kept until another
    conversation needs the place; the answer then loads the session in a new process.

    Args:
        command: A name in the table of known agents, such as `claude`, or a command, as one text
            or as words. It is executed: never take it from a caller or a card.
        cwd: The working folder; by default the current one.
        worktree: Whether each conversation gets a git worktree and a branch of its own.
        permissions: Rules for allowing, denying and asking.
        env: Environment variables for the agent, in addition to `PATH`, `HOME` and the like, and to
            the credentials of a known agent.
        pass_env: Names of further variables to pass on from this process.
        mcp_servers: MCP servers for the agent, each a command or a URL.
        processes: The maximum number of processes.
        idle_seconds: Time to keep a process for its conversation's next message.
        start_seconds: Time limit for starting the agent.
        name: The agent's name; by default that of the known agent, or the program's.
        description: The agent's description.

    Raises:
        ConfigurationError: The program is not installed, or the folder cannot be used.
    """

    def __init__(  # noqa: PLR0913 - a choice each
        self,
        command: str | Sequence[str],
        *,
        cwd: str | Path | None = None,
        worktree: bool = False,
        permissions: Permissions | None = None,
        env: Mapping[str, str] | None = None,
        pass_env: Sequence[str] = (),
        mcp_servers: Sequence[str] = (),
        processes: int = 8,
        idle_seconds: float = 300,
        start_seconds: float = 120,
        name: str | None = None,
        description: str | None = None,
    ) -> None:
        check_arguments(AcpAgent, locals(), {"processes", "idle_seconds", "start_seconds"})
        words = shlex.split(command) if isinstance(command, str) else list(command)
        known = KNOWN.get(words[0]) if words else None
        if known is not None:
            words = [*shlex.split(known.command), *words[1:]]
        program = _program(words, known)
        self._name = name or (known.title if known else Path(words[0]).name)
        self._description = description or f"{self._name}, a coding agent that works on files."
        self._folders = (Worktrees if worktree else Folders)(Path(cwd or "."))
        passed = (*(known.env if known else ()), *pass_env)
        launch = Launch(
            command=[program, *words[1:]],
            env=basic_environment(passed) | dict(env or {}),
            permissions=permissions or Permissions(),
            mcp_servers=[_mcp_server(each, number) for number, each in enumerate(mcp_servers, 1)],
            start_seconds=start_seconds,
            sign_in=known.sign_in if known else "see the agent's documentation",
        )
        self._sessions = Sessions(launch, self._folders, processes, idle_seconds)

    @classmethod
    def of_word(cls, word: str) -> AcpAgent:
        """Return the agent for a command-line word without its `acp:` prefix.

        Raises:
            ConfigurationError: The word is invalid, or the program is not installed.
        """
        said = read_word(word)
        return cls(
            said.command if len(said.command) > 1 else said.command[0],
            cwd=said.cwd,
            worktree=said.worktree,
            permissions=Permissions(
                allow=said.allow,
                deny=said.deny,
                allow_edits_in=said.allow_edits_in,
                ask=not said.deny_rest,
            ),
            pass_env=said.env,
            mcp_servers=said.mcp,
            processes=said.processes,
        )

    def describe(self) -> AgentDescription:
        """Describe the agent by its name."""
        return AgentDescription(
            name=self._name,
            description=self._description,
            input_modes=["*/*"],  # which files it takes is known once it has started
            output_modes=["text/plain", "text/x-diff"],
        )

    async def open(self, storage: StateStorage) -> None:
        """Store session ids in the server's storage."""
        self._sessions.store_in(storage)

    def stream(self, request: AgentRequest) -> Events:
        """Prompt the agent, or continue after a question that an earlier process asked.

        Raises:
            InvalidInputError: The message is empty, or refers to a file by URL.
        """
        check(request)
        return self._run(request)

    async def aclose(self) -> None:
        """End all agents."""
        await self._sessions.aclose()

    async def _run(self, request: AgentRequest) -> Events:
        key = (request.owner, request.context_id)
        # A cancelled task's process may still be ending; its question is not open any more.
        if self._sessions.is_used(key) and await request.others_wait():
            yield ANOTHER_TASK_WAITS
            return
        turn, message = Turn(self._folders.branch(*key)), request
        try:
            while True:
                async with (
                    self._sessions.lease(key, turn.session) as session,
                    aclosing(turn.run(session, message)) as events,
                ):
                    async for event in events:
                        yield event
                if turn.question is None:
                    return
                # Without the lease: another conversation may get the process meanwhile.
                answer = yield turn.question
                assert answer is not None  # noqa: S101 - the executor sends it
                message = answer
        finally:
            await turn.aclose()
            self._sessions.drop(key, turn.session)


def _program(words: Sequence[str], known: Known | None) -> str:
    """Return the path of a command's program.

    Raises:
        ConfigurationError: The program is not installed.
    """
    if not words:
        raise ConfigurationError(f"name an agent: {', '.join(KNOWN)}, or a command")
    if found := shutil.which(words[0]):
        return found
    hint = f"; {known.install}, then {known.sign_in}" if known else ""
    raise ConfigurationError(f"there is no program {words[0]!r}{hint}")


def _mcp_server(server: str, number: int) -> McpServerStdio | HttpMcpServer:
    if server.startswith(("http://", "https://")):
        return HttpMcpServer(type="http", name=f"mcp-{number}", url=server, headers=[])
    words = shlex.split(server)
    if not words or (program := shutil.which(words[0])) is None:
        raise ConfigurationError(f"there is no program for the MCP server {server!r}")
    return McpServerStdio(name=f"mcp-{number}", command=program, args=words[1:], env=[])
