"""Runs platforms' own packages with our server: `run.py PAGE [NAME ...]` writes results to PAGE.

Each package has an environment of its own, because most of them pin what others need.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.platforms.real.processes import serving

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = ROOT / ".venv-platforms"
UV = Path(sys.executable).with_name("uv")
BEGIN, END = "<!-- make platforms -->\n", "<!-- end -->\n"
_SECONDS = 600
_RAN = "ran: "
"""The beginning of the line that says what was run; packages print lines, too."""


@dataclass(frozen=True)
class Package:
    """A package of a platform.

    Attributes:
        name: The distribution whose version is shown.
        module: The module of `tests.platforms.real` that runs it, with its arguments.
        requires: What is installed beside it.
        is_apart: Whether our package is not installed beside it, but serves from elsewhere.
    """

    name: str
    module: str
    requires: tuple[str, ...] = ()
    is_apart: bool = False


PACKAGES = [
    Package("bedrock-agentcore", "agentcore"),
    Package("google-cloud-aiplatform", "vertex", ("google-cloud-aiplatform[agent_engines]",)),
    Package("ray", "ray_serve", ("ray[serve]",)),
    Package("modal", "modal_function"),
    Package("litellm", "litellm_proxy", ("litellm[proxy]",)),
    Package("mcp-contextforge-gateway", "contextforge", is_apart=True),
    Package("google-adk", "adk", ("google-adk[a2a]",)),
    Package("mangum", "lambda_handler"),
    Package("gunicorn", "servers gunicorn", ("uvicorn-worker",)),
    Package("hypercorn", "servers hypercorn"),
    Package("granian", "servers granian"),
]


def environment(package: Package) -> Path:
    """Return the interpreter of a package's environment, made if it is not there."""
    folder = ENVIRONMENTS / package.name
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, folder], check=True)
        ours = [] if package.is_apart else ["--editable", f"{ROOT}[sqlite]"]
        install = [UV, "pip", "install", "--quiet", "--python", python, *ours]
        subprocess.run([*install, package.name, *package.requires], check=True)
    return python


def run(package: Package, python: Path) -> str:
    """Return what a package's module says that it ran.

    Raises:
        subprocess.SubprocessError: It failed.
    """
    command = [python, "-m", *f"tests.platforms.real.{package.module}".split()]
    variables = os.environ | {"PYTHONPATH": str(ROOT)}

    def said(*arguments: str) -> str:
        done = subprocess.run(
            [*command, *arguments], env=variables, stdout=subprocess.PIPE, text=True,
            check=True, timeout=_SECONDS,
        )  # fmt: skip
        lines = [line for line in done.stdout.splitlines() if line.startswith(_RAN)]
        return lines[-1].removeprefix(_RAN)

    if not package.is_apart:
        return said()
    with serving() as url:
        return said(url)


def version(package: Package, python: Path) -> str:
    """Return the installed version of a package."""
    code = f"from importlib.metadata import version; print(version({package.name!r}))"
    done = subprocess.run([python, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def main(page: Path, names: list[str]) -> int:
    """Run the packages, write the page if all were run, and return the number of failures."""
    rows, failures = ["| package | version | what was run |", "|---|---|---|"], 0
    for package in PACKAGES:
        if names and package.name not in names:
            continue
        begun = time.monotonic()
        python = environment(package)
        try:
            result = run(package, python)
        except subprocess.SubprocessError as error:
            failures += 1
            result = f"**failed**: {type(error).__name__}"
        rows.append(f"| `{package.name}` | {version(package, python)} | {result} |")
        sys.stderr.write(f"{rows[-1]} {time.monotonic() - begun:.0f} s\n")
    if not names:
        before, _, rest = page.read_text().partition(BEGIN)
        _, _, after = rest.partition(END)
        page.write_text(before + BEGIN + "\n".join([*rows, ""]) + END + after)
    return failures


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
