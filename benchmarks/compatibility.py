"""Writes docs/compatibility.md: the allowed versions, and those tested in each environment.

    python benchmarks/compatibility.py --write docs/compatibility.md

Reads pyproject.toml (allowed versions, Pythons), constraints.txt (versions of most environments)
and the Makefile (environments with their extras, own pins and resolution).
"""

from __future__ import annotations

import argparse
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENVIRONMENTS = {"main": "VENV", "lowest": "LOWEST", "crewai": "CREWAI", "frameworks": "FRAMEWORKS"}
TARGETS = {
    "main": "`make tests`",
    "lowest": "`make lowest`",
    "crewai": "`make test-crewai`",
    "frameworks": "`make test-frameworks`",
}
LIBRARIES = [
    "langchain-core",
    "langgraph",
    "crewai",
    "autogen-agentchat",
    "openai-agents",
    "openai",
    "llama-index-core",
    "llama-index-workflows",
    "pydantic-ai-slim",
    "claude-agent-sdk",
    "smolagents",
    "strands-agents",
    "agent-framework-core",
    "google-adk",
    "mcp",
    "agent-client-protocol",
    "ag-ui-protocol",
    "a2a-sdk",
    "grpcio",
    "pydantic",
    "starlette",
    "uvicorn",
    "httpx",
    "protobuf",
    "sqlalchemy",
    "psycopg",
    "aiosqlite",
    "redis",
]
WITH = {"grpcio": "a2a-sdk[grpc]", "openai": "openai-agents"}  # required by another library
NAME = re.compile(r"[a-z0-9-]+")
INTRODUCTION = """\
# Compatibility

The supported versions of Python and the frameworks, and the versions used by the tests.
`make compatibility` writes this page from the settings of the package and of its test environments.

"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", type=Path, required=True)
    parser.parse_args().write.write_text(page())


def page() -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pythons = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    allowed = {extra: requirements(project, extra) for extra in project["optional-dependencies"]}
    core = parsed(project["dependencies"])
    environments = {name: environment(name, project) for name in ENVIRONMENTS}
    text = INTRODUCTION
    text += f"**Python**: {project['requires-python'].replace('>=', '')} or newer; tested with "
    text += f"{', '.join(pythons)}.\n\n## Libraries\n\n"
    text += (
        "A dash means that an environment does not have the library. Where there is no version, "
    )
    text += "other\nlibraries determine it.\n\n"
    text += f"| library | allowed | {' | '.join(environments)} |\n"
    text += f"|---|---|{'---|' * len(environments)}\n"
    everything = {name: spec for each in allowed.values() for name, spec in each.items()} | core
    for library in LIBRARIES:
        spec = everything.get(library, "")
        versions = [tested(library, spec, each, core, allowed) for each in environments.values()]
        shown = f"`{spec}`" if spec else f"as `{WITH[library]}` needs"
        text += f"| {library} | {shown} | {' | '.join(versions)} |\n"
    text += (
        "\n## Environments\n\n| environment | command | versions | extras |\n|---|---|---|---|\n"
    )
    for name, (extras, pins, lowest) in environments.items():
        versions = "the lowest allowed versions" if lowest else "`constraints.txt`"
        if pins:
            versions += ", but " + ", ".join(f"{each} {pin}" for each, pin in pins.items())
        text += f"| {name} | {TARGETS[name]} | {versions} | {', '.join(sorted(extras))} |\n"
    return text + "\n## Combinations\n\n" + COMBINATIONS


COMBINATIONS = """\
- **CrewAI** needs `openai` 2. The last version of `openai-agents` that supports it is 0.20, which
  pip selects when CrewAI is installed. Agents in separate environments can use any versions and
  call each other over A2A.
- **Pydantic AI** itself needs no `openai`. The models of `pydantic-ai-slim[openai]` need version 3,
  which cannot be installed with CrewAI.
- **Google ADK** needs OpenTelemetry 1.44 or older, and CrewAI 1.45.1 or newer, so the two cannot be
  installed together. The extra `all` has CrewAI: name the extras that you need beside `google-adk`.
- **AutoGen** needs `protobuf` 5, and therefore `grpcio-tools` and `grpcio-reflection` 1.71.
  `grpcio-tools` 1.71 has no wheel for Python 3.14, where pip needs a C++ compiler to install the
  extras `autogen` and `grpc` into one environment.
- **`mcp` 2** is excluded by the extra `mcp`, because CrewAI, `autogen-ext` and
  `langchain-mcp-adapters` do not support it yet. MCP clients and servers in other processes can
  use any version, because each connection negotiates the protocol version.
"""


def parsed(listed: list[str]) -> dict[str, str]:
    """Return the version ranges of requirements by the names of the libraries."""
    found = {}
    for each in listed:
        name = NAME.match(each)[0]
        found[name] = re.sub(r"\[[^]]*\]", "", each.partition(";")[0]).removeprefix(name).strip()
    return found


def requirements(project: dict, extra: str) -> dict[str, str]:
    """Return the requirements of an extra, with those of the extras that it includes."""
    listed = project["optional-dependencies"][extra]
    found = parsed([each for each in listed if not each.startswith("a2a-")])
    for included in re.findall(r"a2a-adapters\[([^]]+)\]", "\n".join(listed)):
        for each in included.split(","):
            found |= requirements(project, each)
    if "a2a-sdk[grpc]" in listed or extra == "all":
        found["grpcio"] = ""
    return found


def environment(name: str, project: dict) -> tuple[set[str], dict[str, str], bool]:
    """Return the extras, own pins and resolution of an environment, from the Makefile."""
    makefile = (ROOT / "Makefile").read_text()
    recipe = re.search(
        rf"^\$\({ENVIRONMENTS[name]}\)/\.test:.*?(?:\n\n|\Z)", makefile, re.MULTILINE | re.DOTALL
    )[0]
    variable = re.search(r"^EXTRAS := (.+)$", makefile, re.MULTILINE)[1]
    extras = set(re.search(r"'\.\[(.+?)\]'", recipe)[1].replace("$(EXTRAS)", variable).split(","))
    if extras == {"all"}:
        extras = {
            each for each in project["optional-dependencies"] if each not in {"all", "examples"}
        }
    return extras, dict(re.findall(r"'([\w-]+)==([\w.]+)'", recipe)), "lowest-direct" in recipe


def tested(library, spec, environment, core, allowed) -> str:
    """Return the version of a library in an environment."""
    extras, pins, lowest = environment
    needed = {"protobuf"} | set(core).union(*(allowed[extra] for extra in extras))
    if "openai-agents" in needed or "crewai" in needed:
        needed.add("openai")
    if library not in needed:
        return "-"
    if library in pins:
        return pins[library]
    if lowest:
        floor = re.search(r">=([\w.]+)", spec)
        return floor[1] if floor else ""
    constraints = (ROOT / "constraints.txt").read_text()
    return re.search(rf"^{library}==([\w.]+)", constraints, re.MULTILINE)[1]


if __name__ == "__main__":
    main()
