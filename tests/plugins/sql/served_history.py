"""A server that answers with the history. Tests kill it, or it kills itself."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from a2a_adapters_sql.bulk import Bulk

from a2a_adapters import ServerOptions, TextDelta, serve
from a2a_adapters.plugin import Adapter, AgentDescription


class Recalling(Adapter):
    """Repeats the history, also when resuming tasks of dead processes."""

    uses_history = True

    def __init__(self, *, resumes):
        self.resumes = resumes

    def describe(self):
        return AgentDescription(name="recalling", description="Tells what was said.")

    async def stream(self, request):
        yield TextDelta(json.dumps([[turn.role, turn.text] for turn in request.history]))

    def resume(self, request):
        return self.stream(request)


def die(when):
    """Kill this process before or after the transaction that stores the history."""
    write = Bulk.write

    async def dying(bulk, batch):
        is_last = any(rows.statement.table.name == "a2a_states" for rows in batch)
        if is_last and when == "before":
            os._exit(9)
        is_written = await write(bulk, batch)
        if is_last:
            os._exit(9)
        return is_written

    Bulk.write = dying


if __name__ == "__main__":
    storage, *when = sys.argv[1:]
    if when and not (mark := Path(when[1])).exists():
        mark.touch()
        die(when[0])
    resumes = "no-resume" not in when
    serve(Recalling(resumes=resumes), port=0, options=ServerOptions(storage=storage))
