"""Agents with answers of several parts."""

from __future__ import annotations

from a2a.helpers import new_data_part
from a2a.server.agent_execution import RequestContext
from a2a.server.tasks import TaskUpdater
from a2a.types import Part

from tests.support.servers.sdk import pieces, pong, scripted, text

RECORD = {"city": "Paris", "degrees": 21.5, "days": [1, 2]}
ROWS = [{"id": 1}, {"id": 2}]
IMAGE = bytes(range(256))
REPORT_URL = "https://files.example/report.pdf"


@scripted
async def several_parts(context: RequestContext, task: TaskUpdater) -> None:
    """Has an artifact whose text is split into several parts without separators."""
    await task.start_work()
    await task.add_artifact(text(*pieces(pong(context))))
    await task.complete()


@scripted
async def mixed_parts(context: RequestContext, task: TaskUpdater) -> None:
    """Has three artifacts: text beside `RECORD`; `IMAGE` and `REPORT_URL`; `ROWS` alone."""
    await task.start_work()
    await task.add_artifact([*text(pong(context)), new_data_part(RECORD)], name="answer")
    await task.add_artifact(
        [
            Part(raw=IMAGE, media_type="image/png", filename="map.png"),
            Part(url=REPORT_URL, media_type="application/pdf", filename="report.pdf"),
        ],
        name="files",
    )
    await task.add_artifact([new_data_part(ROWS)], name="rows")
    await task.complete()
