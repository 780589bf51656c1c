"""Real coding agents, served with a scripted model behind them; needs node and npm."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))

from a2a_adapters_acp import AcpAgent  # noqa: E402 - found only now

from a2a_adapters import RemoteAgent, ServerOptions, build_app  # noqa: E402
from a2a_adapters.testing import running  # noqa: E402
from tests.end_to_end.coding_agents.model import ANSWER, CONTENT, model  # noqa: E402

PACKAGES = ("@qwen-code/qwen-code@0.15.10", "opencode-ai@1.18.33")  # later ones need Node 22
START_SECONDS = 300.0


def installed(folder: Path) -> Path:
    """Return where the agents' programs are; they are installed if they are not there."""
    programs = folder / "node_modules" / ".bin"
    if not (programs / "opencode").exists():
        folder.mkdir(parents=True, exist_ok=True)
        install = ["npm", "install", "--silent", "--no-audit", "--prefix", str(folder), *PACKAGES]
        subprocess.run(install, check=True)
    return programs


def agents(home: Path, url: str) -> dict[str, dict[str, str]]:
    """Return the agents' commands and the variables by which they find the model."""
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {"scripted": {"name": "scripted"}},
    }
    config = {
        "provider": {"scripted": provider},
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "permission": {"edit": "ask", "bash": "ask"},
    }
    (home / "opencode.json").write_text(json.dumps(config))
    return {
        "qwen --auth-type openai": {
            "OPENAI_BASE_URL": f"{url}/v1",
            "OPENAI_API_KEY": "none",
            "OPENAI_MODEL": "scripted",
        },
        "opencode": {
            "OPENCODE_CONFIG": str(home / "opencode.json"),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        },
    }


def repository(folder: Path) -> Path:
    """Make a git repository with a commit."""
    folder.mkdir()
    git = ["git", "-c", "user.name=Test", "-c", "user.email=test@example.com", "-C", str(folder)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message=first"], check=True)
    return folder


async def check(command: str, env: dict[str, str], home: Path) -> None:
    """Chat, ask for permission, answer after a restart, and change a file in a worktree."""
    name = command.partition(" ")[0]
    work = repository(home / name)
    options = ServerOptions(storage=f"sqlite:///{home}/{name}.db")

    def agent() -> AcpAgent:
        own = env | {"HOME": str(home)}
        return AcpAgent(command, cwd=work, worktree=True, env=own, start_seconds=START_SECONDS)

    async with (
        running(build_app(agent(), options=options)) as url,
        RemoteAgent(url) as remote,
    ):
        reply = await remote.send("hello there")
        assert reply.text == ANSWER, reply
        assert reply.usage, reply
        branch = reply.metadata["branch"]
        print(f"{name}: answers on the branch {branch}, usage {reply.usage}")
        tree = work.with_name(f"{name}.worktrees") / str(branch).rpartition("/")[2]
        file = tree / "a.txt"
        talk = remote.conversation("one", context_id=reply.context_id)
        asked = await talk.send(f"write {file}", task_id="")
        assert asked.is_question, asked
        assert not file.exists()
        print(f"{name}: asks: {asked.question}")
    async with (
        running(build_app(agent(), options=options)) as url,
        RemoteAgent(url) as remote,
    ):
        talk = remote.conversation("one", context_id=reply.context_id)
        done = await talk.send("yes", task_id=asked.task_id)
        assert done.state == "completed", done
        print(f"{name}: after a restart: {done.text!r}")
        written = await talk.send(f"write {file}", task_id="")
        while written.is_question:
            written = await talk.send("yes", task_id=written.task_id)
        assert file.read_text() == CONTENT
        assert "a.txt.patch" in [artifact.name for artifact in written.artifacts]
        other = await talk.send(f"write {tree / 'b.txt'}", task_id="")
        assert other.is_question, other
        assert (await remote.cancel(other.task_id)).state == "canceled"
        assert not (tree / "b.txt").exists()
        print(f"{name}: has written a file, and left the one of the cancelled task alone")


async def main() -> None:
    """Check every agent."""
    programs = installed(ROOT / ".demo" / "coding-agents")
    os.environ["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as home:
        async with running(model()) as url:
            for command, env in agents(Path(home), url).items():
                await check(command, env, Path(home))


if __name__ == "__main__":
    asyncio.run(main())
