"""A server that tests kill. Its agent logs its calls and waits for permission to continue."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

from a2a_adapters import (
    BearerTokens,
    InputRequired,
    Limits,
    Output,
    Reply,
    ServerOptions,
    Text,
    TextDelta,
    serve,
)
from a2a_adapters.plugin import Adapter, AgentDescription, Extension, ResumeError

EXTENSION = "https://example.org/extension"


class Steps(Adapter):
    """Sends "one " and, once the file `go` exists, "two"."""

    resumes = True

    def __init__(self, work: Path) -> None:
        self._work = work

    def describe(self):
        return AgentDescription(
            name="steps", description="Steps.", extensions=[Extension(uri=EXTENSION)]
        )

    def stream(self, request):
        return self._run(request, "stream")

    def resume(self, request):
        if request.text == "lost":
            raise ResumeError("There is nothing left of it.")
        return self._run(request, "resume")

    async def abandon(self, request):
        self._note({"how": "abandon", "task": request.task_id})

    def _note(self, what):
        with (self._work / "log").open("a") as file:
            file.write(json.dumps(what) + "\n")

    async def _run(self, request, how):
        earlier = [
            [item.request.text, dict(item.request.metadata), item.question.prompt]
            for item in await request.earlier()
        ]
        self._note(
            {
                "how": how,
                "text": request.text,
                "owner": request.owner,
                "context": request.context_id,
                "metadata": dict(request.metadata),
                "modes": list(request.accepted_output_modes),
                "extensions": sorted(request.extensions),
                "said": request.said,
                "resuming": request.resuming,
                "asked": dict(request.resume_metadata),
                "earlier": earlier,
            }
        )
        if request.text == "ask":
            yield Output([Text("before")], name="answer")
            yield TextDelta("well: ")
            yield InputRequired("which?", metadata={"n": 3}, durable=True)
            return
        if request.text == "ask in memory":
            request = yield InputRequired("which?")
        yield TextDelta("one ")
        if request.text == "end the process":
            os._exit(9)
        while True:
            if (self._work / "go").exists():
                yield TextDelta("two")
                return
            await asyncio.sleep(0.02)


class Replies(Steps):
    """The same without tasks: answers with a message."""

    resumes = False
    may_reply = True

    async def _run(self, request, how):
        async for event in super()._run(request, how):
            if event == TextDelta("two"):
                yield Reply([Text("one two")])


if __name__ == "__main__":
    storage, work, *seconds = sys.argv[1:]
    options = ServerOptions(
        storage=storage, authentication=BearerTokens({"ann": "ann", "bob": "bob"})
    )
    if seconds and seconds != ["reply"]:
        options = replace(options, limits=Limits(input_seconds=float(seconds[0])))
    serve((Replies if seconds == ["reply"] else Steps)(Path(work)), port=0, options=options)
