"""A worktree and a branch for each conversation."""

from __future__ import annotations

import asyncio
import subprocess

import pytest
from a2a_adapters_acp import Permissions
from google.protobuf.json_format import MessageToDict

from a2a_adapters import ConfigurationError
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.acp.support import build_app, scripted

EDITS = Permissions(allow=["edit"])


def git(folder, *arguments):
    name = ["-c", "user.name=Test", "-c", "user.email=test@example.com"]
    done = subprocess.run(
        ["git", *name, "-C", str(folder), *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "a.txt").write_text("old\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message=first")
    return folder


async def test_two_callers_change_two_worktrees_at_once(repository):
    agent = scripted(repository, worktree=True, permissions=EDITS)
    async with (
        running(build_app(agent)) as url,
        connect(url, user="ann") as ann,
        connect(url, user="bob") as bob,
    ):
        message = user_message("edit a.txt", context_id="shared")
        tasks = await asyncio.gather(send(ann, message), send(bob, message))
        branches = {MessageToDict(task.metadata)["branch"] for task in tasks}
        where = [
            answer_of(await send(one, user_message("folder", context_id="shared")))
            for one in (ann, bob)
        ]
    assert len(branches) == len(set(where)) == 2
    assert (repository / "a.txt").read_text() == "old\n"
    for folder in where:
        assert git(folder, "diff", "--name-only") == "a.txt"
        assert git(folder, "branch", "--show-current") in branches


async def test_a_clean_worktree_is_removed_and_made_again(repository):
    agent = scripted(repository, worktree=True, permissions=EDITS, processes=1)
    async with running(build_app(agent)) as url, connect(url) as client:
        await send(client, user_message("edit a.txt", context_id="changes"))
        await send(client, user_message("hello", context_id="none"))
        task = await send(client, user_message("recall", context_id="changes"))
        assert answer_of(task) == "edit a.txt"
        assert worktree_of(repository).joinpath("a.txt").read_text() == "new\n"
    assert len(git(repository, "worktree", "list").splitlines()) == 2
    assert len(git(repository, "branch", "--list", "a2a/*").splitlines()) == 1


def worktree_of(repository):
    return next(repository.with_name("work.worktrees").iterdir())


async def test_commits_outlive_their_worktree(repository):
    agent = scripted(repository, worktree=True)
    async with running(build_app(agent)) as url, connect(url) as client:
        folder = answer_of(await send(client, user_message("folder")))
        git(folder, "commit", "--quiet", "--allow-empty", "--message=work")
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    branch = git(repository, "branch", "--list", "a2a/*", "--format=%(refname:short)")
    assert git(repository, "log", "-1", "--format=%s", branch) == "work"


def test_worktrees_need_a_repository(tmp_path):
    with pytest.raises(ConfigurationError, match="in a git repository that has a commit"):
        scripted(tmp_path / "work", worktree=True)
