"""Working folders: one for all conversations, or a git worktree for each."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import subprocess
from pathlib import Path

from a2a_adapters import ConfigurationError
from a2a_adapters.concurrency import PerLoop, basic_environment, shielded
from a2a_adapters.dialects import quote
from a2a_adapters.plugin import AgentFailedError

_SECONDS = 120.0

logger = logging.getLogger(__name__)


class Folders:
    """One folder for all conversations.

    Args:
        root: The folder.

    Raises:
        ConfigurationError: The folder does not exist.
    """

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise ConfigurationError(f"there is no folder {root}")
        self.root = root.resolve()

    def branch(self, owner: str, context_id: str) -> str:  # noqa: ARG002 - of worktrees alone
        """Return a conversation's branch; "" if it has none of its own."""
        return ""

    async def open(self, owner: str, context_id: str) -> Path:  # noqa: ARG002
        """Return the working folder of a conversation.

        Raises:
            AgentFailedError: The folder cannot be created.
        """
        return self.root

    async def close(self, owner: str, context_id: str) -> None:
        """Clean up after an idle conversation."""


class Worktrees(Folders):
    """A git worktree and a branch for each conversation, in a folder beside the repository.

    When a conversation becomes idle, its worktree is removed if it has no uncommitted changes, and
    its branch if it has no commits of its own. Work is never removed.

    Args:
        root: A folder in the repository.

    Raises:
        ConfigurationError: The folder is not in a git repository with a commit.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        command = ["git", "-C", str(self.root), "rev-parse", "--show-toplevel", "HEAD"]
        try:
            found = subprocess.run(command, capture_output=True, check=True, text=True)  # noqa: S603
        except (OSError, subprocess.CalledProcessError) as error:
            raise ConfigurationError(
                f"worktrees need git, and {root} in a git repository that has a commit"
            ) from error
        self._top = Path(found.stdout.splitlines()[0])
        self._base = self._top.with_name(f"{self._top.name}.worktrees")
        self._git_lock = PerLoop(asyncio.Lock)

    def branch(self, owner: str, context_id: str) -> str:
        """Return a conversation's branch."""
        return f"a2a/{_digest(owner, context_id)}"

    async def open(self, owner: str, context_id: str) -> Path:
        """Return the conversation's worktree; create it if needed."""
        tree = self._base / _digest(owner, context_id)
        if not (tree / ".git").exists():
            await shielded(self._add(tree, self.branch(owner, context_id)))
        folder = tree / self.root.relative_to(self._top)
        folder.mkdir(parents=True, exist_ok=True)
        return folder.resolve()

    async def close(self, owner: str, context_id: str) -> None:
        """Remove the worktree if it is clean, and the branch if it has no commits."""
        tree = self._base / _digest(owner, context_id)
        # Git refuses either if work would be lost.
        if tree.exists() and await self._git("worktree", "remove", str(tree)) is None:
            await self._git("branch", "--delete", self.branch(owner, context_id))

    async def _add(self, tree: Path, branch: str) -> None:
        await self._git("worktree", "prune")
        exists = await self._git("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}") is None
        which = [str(tree), branch] if exists else ["-b", branch, str(tree)]
        if (problem := await self._git("worktree", "add", *which)) is not None:
            logger.error("no worktree for the branch %s: %s", branch, quote(problem, 500))
            raise AgentFailedError("internal", "The agent's working copy cannot be made.")

    async def _git(self, *arguments: str) -> str | None:
        """Run git in the repository; return the error, or None on success."""
        async with self._git_lock():  # two that change worktrees may fail on each other's locks
            process = await asyncio.create_subprocess_exec(
                "git",
                "-C",
                str(self._top),
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env=basic_environment(),
            )
            try:
                async with asyncio.timeout(_SECONDS):
                    _, problem = await process.communicate()
            except TimeoutError:
                process.kill()
                await process.wait()
                return "git did not end in time"
            return problem.decode(errors="replace") or "failed" if process.returncode else None


def _digest(owner: str, context_id: str) -> str:
    return hashlib.sha256(json.dumps([owner, context_id]).encode()).hexdigest()[:16]
