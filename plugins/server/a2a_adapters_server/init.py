"""`a2a-adapters init`: creates a small working project."""

from __future__ import annotations

import json
import re
import shlex
import sys
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from a2a_adapters.cli.options import Verbose, suggestion
from a2a_adapters.cli.terminal import echo
from a2a_adapters.contract.errors import ConfigurationError

_PACKAGES = {
    "functions": ["a2a-adapters"],
    "langchain": ["a2a-adapters[langchain]"],
    "langgraph": ["a2a-adapters[langchain]"],
    "crewai": ["a2a-adapters[crewai]"],
    "autogen": ["a2a-adapters[autogen]", "autogen-ext>=0.7,<0.8"],
    "openai-agents": ["a2a-adapters[openai-agents]"],
    "pydantic-ai": ["a2a-adapters[pydantic-ai]"],
    "strands": ["a2a-adapters[strands]"],
    "agent-framework": ["a2a-adapters[agent-framework]"],
    "google-adk": ["a2a-adapters[google-adk]"],
    "llamaindex": ["a2a-adapters[llamaindex]"],
    "smolagents": ["a2a-adapters[smolagents]"],
    "claude-agent": ["a2a-adapters[claude]"],
}
"""The dependencies of a project, by framework."""

_NAME_LENGTH = 60


def init(
    folder: Annotated[
        Path | None, typer.Argument(help="The new folder; by default named after the agent.")
    ] = None,
    framework: Annotated[str, typer.Option(help=f"One of {', '.join(_PACKAGES)}.")] = "",
    name: Annotated[str, typer.Option(help="The agent's name.")] = "",
    _verbose: Verbose = False,
) -> None:
    """Create a small working project: an agent, its settings and its test.

    At a terminal it asks for missing options. It never overwrites files.

    Examples:
      a2a-adapters init
      a2a-adapters init travel --framework langgraph --name Travel
    """
    framework = framework or _ask("Framework", "functions", ", ".join(_PACKAGES))
    if framework not in _PACKAGES:
        raise ConfigurationError(
            f"there is no framework {framework!r}; {suggestion(framework, _PACKAGES)}"
        )
    name = name or _ask("Name", "Greeter")
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if not slug or len(name) > _NAME_LENGTH or not name.isprintable():
        raise ConfigurationError(
            f"a name must contain letters or digits, and have at most {_NAME_LENGTH} characters"
        )
    folder = folder or Path(slug)
    _write(folder, _project(framework, name, slug))
    echo(f"{folder} has an agent. Next:\n")
    for line in (
        f"cd {shlex.quote(str(folder))}",
        f"pip install {_installed(framework)}",
        "a2a-adapters serve",
    ):
        echo(f"    {line}")


def _ask(question: str, default: str, choices: str = "") -> str:
    if not sys.stdin.isatty():
        raise ConfigurationError(f"--{question.lower()} is required without a terminal")
    prompt = f"{question} ({choices})" if choices else question
    return str(typer.prompt(prompt, default=default))


def _installed(framework: str) -> str:
    return " ".join(
        f"'{each}'" if re.search(r"[\[<>]", each) else each for each in _PACKAGES[framework]
    )


def _project(framework: str, name: str, slug: str) -> dict[str, str]:
    """Return the files of a project."""
    quoted = json.dumps(name, ensure_ascii=False)[1:-1]  # valid in TOML and Python
    values = {
        "name": quoted,
        "slug": slug,
        "dependencies": ", ".join(map(json.dumps, _PACKAGES[framework])),
        "installed": _installed(framework),
    }
    return {
        "agent.py": _filled(framework, values),
        "a2a-adapters.toml": _filled("settings", values),
        "pyproject.toml": _filled("pyproject", values),
        "README.md": _filled("readme", values | {"name": name}),
        "test_agent.py": _filled("test", values),
    }


def _filled(template: str, values: dict[str, str]) -> str:
    text = (files("a2a_adapters_server") / "templates" / f"{template}.txt").read_text("utf-8")
    return Template(text).substitute(values)


def _write(folder: Path, project: dict[str, str]) -> None:
    if existing := [name for name in project if (folder / name).exists()]:
        raise ConfigurationError(
            f"{folder} already has {', '.join(existing)}; choose another folder"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in project.items():
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise ConfigurationError(f"{folder} cannot be written: {error.strerror}") from error
