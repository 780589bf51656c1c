"""An agent on fasta2a."""

from __future__ import annotations

from contextlib import asynccontextmanager

from fasta2a import FastA2A, Skill, Worker
from fasta2a.broker import InMemoryBroker
from fasta2a.storage import InMemoryStorage


class Echo(Worker):
    """Echoes its input."""

    async def run_task(self, params):
        said = "".join(part.get("text", "") for part in params["message"]["parts"])
        artifact = {"artifact_id": "answer", "parts": [{"text": said}]}
        await self.storage.update_task(params["id"], state="completed", new_artifacts=[artifact])

    async def cancel_task(self, params):
        """Do nothing: all tasks complete immediately."""

    def build_message_history(self, history):
        return history

    def build_artifacts(self, result):
        return [result]


def fasta2a():
    storage, broker = InMemoryStorage(), InMemoryBroker()
    worker = Echo(storage=storage, broker=broker)

    @asynccontextmanager
    async def lifespan(app):
        async with app.task_manager, worker.run():
            yield

    skill = Skill(id="echo", name="Echo", description="Says it again.", tags=["echo"])
    return FastA2A(storage=storage, broker=broker, lifespan=lifespan, skills=[skill])
