"""Real coding agents behind the commands of docs/coding-agents.md; needs node and npm.

With Qwen Code and OpenCode, whose model is scripted: two callers change two worktrees at once, one
question is answered after a restart, one task is cancelled, a remote A2A agent is a tool, and no
process survives. With claude-agent-acp: what can be seen without an account.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Sequence
from contextlib import asynccontextmanager
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))

from a2a_adapters import build_app  # noqa: E402 - found only now
from a2a_adapters.testing import running  # noqa: E402
from tests.end_to_end.coding_agents.model import CONTENT, model  # noqa: E402

PACKAGES = (  # later ones need Node 22
    "@agentclientprotocol/claude-agent-acp@0.49.0",
    "@qwen-code/qwen-code@0.15.10",
    "opencode-ai@1.18.33",
)
TOKENS = {"ann": "token-of-ann", "bob": "token-of-bob"}
START_SECONDS = 120


def installed(folder: Path) -> Path:
    """Return where the agents' programs are; they are installed if they are not there."""
    programs = folder / "node_modules" / ".bin"
    if not all((programs / name).exists() for name in ("claude-agent-acp", "opencode", "qwen")):
        folder.mkdir(parents=True, exist_ok=True)
        install = ["npm", "install", "--silent", "--no-audit", "--prefix", str(folder), *PACKAGES]
        subprocess.run(install, check=True)
    return programs


def environments(home: Path, url: str) -> dict[str, dict[str, str]]:
    """Return the variables by which each agent finds the model."""
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


class Shell:
    """Runs commands as a user would, in a folder and with few variables.

    Args:
        folder: Where they run.
        env: Their variables.
    """

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self._folder = folder
        self._env = env
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]

    @property
    def url(self) -> str:
        """Where the server listens."""
        return f"http://127.0.0.1:{self._port}"

    @asynccontextmanager
    async def serving(self, target: str):
        """Run `a2a-adapters serve` until it is interrupted."""
        storage = f"sqlite:///{self._folder.parent}/{self._folder.name}.db"
        tokens = str(self._folder.parent / "tokens.txt")
        options = ["--storage", storage, "--bearer-token-file", tokens, "--port", str(self._port)]
        server = await self._start("ann", "serve", target, *options, stdout=None)
        try:
            async with asyncio.timeout(START_SECONDS):
                while not await asyncio.to_thread(self._is_up):
                    assert server.returncode is None
                    await asyncio.sleep(0.2)
            yield
        finally:
            server.send_signal(signal.SIGINT)
            await server.wait()

    async def run(self, user: str, *words: str) -> dict:
        """Run another command for a user and return the task that it prints."""
        process = await self._start(
            user, *words, "-a", self.url, "-o", "json", stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate()
        assert process.returncode == 0, (words, out)
        printed = json.loads(out)
        return printed.get("task", printed)

    async def _start(self, user: str, *words: str, stdout) -> asyncio.subprocess.Process:
        command = [sys.executable, "-m", "a2a_adapters", *words]
        env = self._env | {"A2ACLI_BEARER": TOKENS[user]}
        return await asyncio.create_subprocess_exec(
            *command, cwd=self._folder, env=env, stdout=stdout
        )

    def _is_up(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/livez") as answer:
                return answer.status == 200
        except OSError:
            return False


def state(task: dict) -> str:
    """Return a task's state, as `completed`."""
    return task["status"]["state"].removeprefix("TASK_STATE_").lower().replace("_", "-")


def text(task: dict) -> str:
    """Return the text of a task's artifacts, or else of its last status."""
    artifacts = [part for each in task.get("artifacts", []) for part in each["parts"]]
    parts = artifacts or task["status"].get("message", {}).get("parts", [])
    return "\n".join(part["text"] for part in parts if "text" in part)


def tree(work: Path, task: dict) -> Path:
    """Return the worktree of a task."""
    return work.with_name(f"{work.name}.worktrees") / task["metadata"]["branch"].partition("/")[2]


def survivors(home: Path) -> list[str]:
    """Return the command lines of the processes that have a home folder."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"HOME={home}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


async def check(command: str, env: dict[str, str], home: Path, forecast: str) -> None:
    """Do with one agent what the documentation shows."""
    name = command.partition(" ")[0]
    work = repository(home / name)
    shell = Shell(work, env)
    mcp = f"--mcp '{sys.executable} -m a2a_adapters mcp forecast={forecast}'"
    target = f"acp:--worktree --allow read {mcp} {command}"
    async with shell.serving(target):
        asked = await asyncio.gather(
            *(shell.run(user, "send", "write notes.txt") for user in ("ann", "bob"))
        )
        ann, bob = asked
        assert [state(task) for task in asked] == ["input-required"] * 2, asked
        assert len({tree(work, task) for task in asked}) == 2
        print(f"{name}: asks ann: {text({**ann, 'artifacts': []}).splitlines()[0]}")
        done = await shell.run("bob", "send", "--task-id", bob["id"], "yes")
        assert state(done) == "completed", done
        assert (tree(work, bob) / "notes.txt").read_text() == CONTENT
        assert "notes.txt.patch" in [each.get("name") for each in done["artifacts"]]
        assert not (tree(work, ann) / "notes.txt").exists()
        print(f"{name}: has written bob's file; usage {done['metadata']['usage']}")
    assert not survivors(home), survivors(home)
    async with shell.serving(target):
        done = await shell.run("ann", "send", "--task-id", ann["id"], "yes")
        assert state(done) == "completed", done
        assert (tree(work, ann) / "notes.txt").read_text() == CONTENT
        print(f"{name}: has written ann's file after a restart: {text(done)!r}")
        waiting = await shell.run("bob", "send", "--async", "wait")
        cancelled = await shell.run("bob", "task", "cancel", waiting["id"])
        assert state(cancelled) == "canceled", cancelled
        print(f"{name}: is cancelled")
        told = await shell.run("bob", "send", "forecast Rome")
        while state(told) == "input-required":
            told = await shell.run("bob", "send", "--task-id", told["id"], "yes")
        assert "Sunny in Rome" in text(told), told
        print(f"{name}: calls a remote A2A agent as a tool: {text(told)!r}")
    assert not survivors(home), survivors(home)
    print(f"{name}: no process survives")


async def check_claude(env: dict[str, str], home: Path) -> None:
    """Start claude-agent-acp without an account: the task says what is missing."""
    shell = Shell(repository(home / "claude"), env)
    async with shell.serving("acp:claude"):
        failed = await shell.run("ann", "send", "hello")
        assert state(failed) == "failed", failed
        print(f"claude: without an account: {text(failed)!r}")
    assert not survivors(home), survivors(home)


async def forecaster(request) -> str:
    """Tell the weather of a city."""
    return f"Sunny in {request.text}."


async def main(chosen: Sequence[str]) -> None:
    """Check the chosen agents, by default all."""
    programs = installed(ROOT / ".demo" / "coding-agents")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        basic = {
            "HOME": folder,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
        }
        (home / "tokens.txt").write_text("".join(f"{n}: {t}\n" for n, t in TOKENS.items()))
        async with (
            running(model()) as url,
            running(build_app(forecaster, name="forecast")) as forecast,
        ):
            for command, env in environments(home, url).items():
                if command.partition(" ")[0] in chosen:
                    await check(command, basic | env, home, forecast)
        if "claude" in chosen:
            await check_claude(basic, home)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:] or ("qwen", "opencode", "claude")))
