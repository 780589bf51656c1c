"""A clerk whose process tests kill, alone or in a team: it records what it books."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from pathlib import Path

from a2a_adapters import ServerOptions, serve
from tests.support.agents.questions import clerk


class Booked:
    """The booked cities, a line each in a file."""

    def __init__(self, file):
        self._file = file

    def append(self, city):
        with self._file.open("a") as file:
            file.write(f"{city}\n")


if __name__ == "__main__":
    storage, folder, module, kind = sys.argv[1:]
    support = import_module(module)
    make = partial(clerk, support, Booked(Path(folder) / "booked"))
    target = make() if kind == "agent" else lambda: support.team(make())
    serve(target, port=0, options=ServerOptions(storage=storage))
