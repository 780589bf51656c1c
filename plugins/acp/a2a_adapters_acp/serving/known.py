"""Coding agents known by name, and the parser for command-line words."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from a2a_adapters import ConfigurationError

_MODEL_KEYS = ("ANTHROPIC_*", "GEMINI_*", "GOOGLE_*", "OPENAI_*", "OPENROUTER_*")


@dataclass(frozen=True, slots=True)
class Known:
    """A coding agent.

    Attributes:
        title: The displayed name.
        command: The command that starts it.
        install: The command that installs it.
        sign_in: How a user signs in.
        env: The environment variables to pass on; a name that ends in `*` is a prefix.
    """

    title: str
    command: str
    install: str
    sign_in: str
    env: Sequence[str] = ()


KNOWN = {
    "claude": Known(
        "Claude Code",
        "claude-agent-acp",
        "npm install --global @agentclientprotocol/claude-agent-acp",
        "run `claude` once and log in, or set ANTHROPIC_API_KEY",
        ("ANTHROPIC_*", "CLAUDE_*", "DISABLE_*"),
    ),
    "codex": Known(
        "Codex",
        "codex-acp",
        "npm install --global @agentclientprotocol/codex-acp",
        "run `codex login`, or set OPENAI_API_KEY",
        ("OPENAI_*", "CODEX_*"),
    ),
    "copilot": Known(
        "GitHub Copilot",
        "copilot --acp",
        "npm install --global @github/copilot",
        "run `copilot` once and log in, or set GH_TOKEN",
        ("COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN"),
    ),
    "gemini": Known(
        "Gemini CLI",
        "gemini --acp",
        "npm install --global @google/gemini-cli",
        "run `gemini` once and log in, or set GEMINI_API_KEY",
        ("GEMINI_*", "GOOGLE_*"),
    ),
    "goose": Known(
        "goose",
        "goose acp",
        "see goose's documentation",
        "run `goose configure`",
        ("GOOSE_*", *_MODEL_KEYS),
    ),
    "hermes": Known(
        "Hermes",
        "hermes-acp",
        "pip install 'hermes-agent[acp]'",
        "set the model in ~/.hermes/config.yaml",
        ("HERMES_*", *_MODEL_KEYS),
    ),
    "openclaw": Known(
        "OpenClaw",
        "openclaw acp",
        "npm install --global openclaw",
        "run `openclaw onboard`, and keep its gateway running",
        ("OPENCLAW_*",),
    ),
    "opencode": Known(
        "OpenCode",
        "opencode acp",
        "npm install --global opencode-ai",
        "run `opencode auth login`",
        ("OPENCODE_*", *_MODEL_KEYS),
    ),
    "pi": Known(
        "pi",
        "pi-acp",
        "install pi, and npm install --global pi-acp",
        "run `pi` once and log in",
        ("PI_*", *_MODEL_KEYS),
    ),
    "qwen": Known(
        "Qwen Code",
        "qwen --acp",
        "npm install --global @qwen-code/qwen-code",
        "run `qwen` once and log in, or set OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL",
        ("OPENAI_*", "QWEN_*"),
    ),
    "vibe": Known(
        "Mistral Vibe",
        "vibe-acp",
        "pip install mistral-vibe",
        "run `vibe --setup`, or set MISTRAL_API_KEY",
        ("MISTRAL_*", "VIBE_*"),
    ),
}
"""The agents by their names."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigurationError(f"acp: {message}; for the options: serve 'acp:--help'")


def read_word(word: str) -> argparse.Namespace:
    """Return the options and the command from the text after `acp:`, split like a shell does.

    Raises:
        ConfigurationError: The text is invalid.
    """
    parser = _Parser(prog="acp:", allow_abbrev=False)
    parser.add_argument("--cwd", metavar="FOLDER", help="where the agent works")
    parser.add_argument(
        "--worktree", action="store_true", help="a git worktree for each conversation"
    )
    parser.add_argument(
        "--allow", action="append", default=[], metavar="KIND", help="allow a kind of tool"
    )
    parser.add_argument(
        "--deny", action="append", default=[], metavar="KIND", help="deny a kind of tool"
    )
    parser.add_argument(
        "--allow-edits-in", action="append", default=[], metavar="FOLDER", help="allow changes"
    )
    parser.add_argument(
        "--deny-rest", action="store_true", help="deny what is not allowed, without asking"
    )
    parser.add_argument(
        "--env", action="append", default=[], metavar="NAME", help="pass on a variable"
    )
    parser.add_argument(
        "--mcp", action="append", default=[], metavar="COMMAND|URL", help="give it an MCP server"
    )
    parser.add_argument("--processes", type=int, default=8, help="how many may run at once")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="a known name, or a command")
    try:
        words = shlex.split(word)
    except ValueError as error:
        raise ConfigurationError(f"acp: {word!r} is not a command: {error}") from error
    found = parser.parse_args(words)
    if not found.command:
        raise ConfigurationError(f"acp: needs a command, or one of {', '.join(KNOWN)}")
    return found
