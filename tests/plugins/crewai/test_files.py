"""Files in both directions, with crewai's support for them."""

from __future__ import annotations

from typing import Any

import pytest
from a2a_adapters_crewai import A2ALLM, A2AAgent, adapt
from crewai import Crew

from a2a_adapters import File, InvalidInputError, OutboundPolicy, RemoteRefusedError
from tests.plugins.crewai.calling import desk
from tests.plugins.crewai.support import Scripted, agent, ask, crew, request, task
from tests.support.far_files import pictures, show

NOTE = File(content=b"cats purr", filename="note.txt", media_type="text/plain")
UNNAMED = File(content=b"dogs bark", media_type="text/plain")


class Reading(Scripted):
    """A model that records the contents of its input files."""

    read: Any

    def supports_multimodal(self):
        return True

    def call(self, messages, *args, **kwargs):
        for message in messages:
            for name, file in (message.get("files") or {}).items():
                self.read[name] = file.read()
        return super().call(messages, *args, **kwargs)


async def test_a_crew_receives_files():
    read = {}
    writer = agent(Reading("Final Answer: read", read=read))
    target = Crew(agents=[writer], tasks=[task(writer)])
    await ask(adapt(target), "cats", NOTE, UNNAMED)
    assert read == {"note.txt": b"cats purr", "file2": b"dogs bark"}


async def test_an_agent_receives_files():
    read = {}
    await ask(adapt(agent(Reading("Final Answer: read", read=read))), "cats", NOTE)
    assert read == {"note.txt": b"cats purr"}


def test_a_card_shows_whether_files_are_accepted(monkeypatch):
    assert "*/*" in adapt(crew()).describe().input_modes
    monkeypatch.setattr("a2a_adapters_crewai.serving.card.takes_files", lambda: False)
    assert "*/*" not in adapt(crew()).describe().input_modes


def test_a_file_given_by_url_is_refused():
    with pytest.raises(InvalidInputError, match="by their bytes"):
        adapt(crew()).stream(request("cats", File(url="http://10.0.0.1/secret")))


async def test_a_file_given_by_url_is_fetched_if_the_policy_allows_it():
    async with pictures(b"cats purr") as server:
        for make in (crew_of, agent):
            read = {}
            target = make(Reading("Final Answer: read", read=read))
            await show(adapt(target, fetch=OutboundPolicy(allow_private=True)), server.file())
            assert read == {"a.png": b"cats purr"}
            with pytest.raises(RemoteRefusedError, match="cannot be fetched"):
                await show(adapt(target, fetch=OutboundPolicy()), server.file())


def crew_of(model):
    writer = agent(model)
    return Crew(agents=[writer], tasks=[task(writer)])


async def test_a_remote_agent_receives_the_files_of_its_crew():
    async with desk() as (there, remote):
        member = A2AAgent(agent=remote, role="Desk", goal="Read")
        writer = agent(A2ALLM(agent=remote))
        for worker in (member, writer):
            target = Crew(agents=[worker], tasks=[task(worker)])
            await ask(adapt(target), "cats", NOTE)
    for received in there.received:
        (file,) = [part for part in received.parts if isinstance(part, File)]
        assert (file.filename, file.content) == ("note.txt", b"cats purr")
