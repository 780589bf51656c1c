"""The lines that `serve` shows on a terminal once the agents answer."""

from __future__ import annotations

import logging
import os
import shlex
import webbrowser
from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a_adapters.cli.terminal import echo, one_line
from a2a_adapters.protocol.card import WELL_KNOWN_PATHS
from a2a_adapters_server.credentials import API_KEYS, BEARER_TOKENS
from a2a_adapters_server.reload import is_restart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_adapters.serving.agents import ServedAgent, ServedAgents
    from a2a_adapters_server.settings import ServerSettings

_WIDTH = 9
_GREETING = "Hello"


def banner(settings: ServerSettings, *, opens: bool) -> Banner:
    """Return the banner of a server, and leave out uvicorn's log lines about its start.

    Args:
        settings: The server's settings.
        opens: Whether to open the server's root in a browser.
    """
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    targets = [agent.target for agent in settings.agents.values()] or [settings.target or ""]
    return Banner(", ".join(targets), _credentials(settings), opens)


def _credentials(settings: ServerSettings) -> str:
    """Return the options with which callers identify themselves."""
    if settings.bearer_token_file or BEARER_TOKENS in os.environ:
        return "--bearer TOKEN"
    return "--api-key KEY" if settings.api_key_file or API_KEYS in os.environ else ""


@dataclass(frozen=True, slots=True)
class Banner:
    """Shows the addresses of a server and how to call it.

    Attributes:
        targets: Names of the served targets.
        credentials: Options of the commands that call the server.
        opens: Whether to open the server's root in a browser.
    """

    targets: str
    credentials: str
    opens: bool

    def __call__(self, roots: Sequence[str], agents: ServedAgents) -> None:
        """Show the banner."""
        logging.getLogger("uvicorn.error").setLevel(logging.NOTSET)
        root = roots[0]
        if is_restart():
            echo(f"ready at {root}", err=True, fg="green")
            return
        echo(err=True)
        for agent in agents:
            _show_agent(root, agent)
        for name, path in agents.dialects.endpoints.items():
            _row(name, f"{root}{path}")
        _row("serves", self.targets)
        self._show_calls(root, next(iter(agents)))
        if self.opens:
            webbrowser.open(f"{root}/")

    def _show_calls(self, root: str, agent: ServedAgent) -> None:
        url, example = root + agent.address.path, shlex.quote(_example(agent))
        options = f" {self.credentials}" if self.credentials else ""
        echo("\nTalk to it from another terminal:", err=True)
        for words in (f"chat {url}", f"send {url} {example}"):
            echo(one_line(f"  a2a-adapters {words}{options}"), err=True, fg="cyan")
        echo("\nCtrl-C stops it.", err=True, dim=True)


def _show_agent(root: str, agent: ServedAgent) -> None:
    url = root + agent.address.path
    echo(one_line(agent.about.name), err=True, nl=False, bold=True)
    echo(one_line(f"  {agent.about.description}"), err=True)
    _row("agent", f"{url}/")
    _row("card", url + WELL_KNOWN_PATHS[0])
    for each in agent.bindings:
        _row(each.name, f"port {each.port}")


def _example(agent: ServedAgent) -> str:
    """Return the first example of the agent's skills."""
    return next((each for skill in agent.about.skills for each in skill.examples), _GREETING)


def _row(label: str, value: str) -> None:
    echo(f"  {label:{_WIDTH}}", err=True, nl=False, dim=True)
    echo(one_line(value), err=True)
