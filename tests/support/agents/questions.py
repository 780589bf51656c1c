"""Questions of agents: which replies they take, and what closes them."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from a2a_adapters import Data, InputRequired, Rejected
from tests.plugins.sql.test_resume import Caller, texts
from tests.support.adapters import answer, ask, data, only, reply, request
from tests.support.processes import launched
from tests.support.warm import warm

if TYPE_CHECKING:
    from tests.support.agents import Support

SERVED = "tests.support.agents.served_clerk"


def clerk(support, log, **options):
    """Return an agent that calls `support.book` twice in one turn, and repeats the results."""

    def model(messages):
        if done := support.results(messages):
            return "; ".join(done[key] for key in sorted(done))
        said = support.said(messages)
        if said[-1] != "book":
            return f"heard {' '.join(said)}"
        calls = [support.calling("book", f"c{n}", city=c) for n, c in enumerate(("Rome", "Oslo"))]
        return ["Let me see.", *calls]

    tools = [support.book(log)]
    return support.made(support.Fake(model), tools=tools, **{"name": "clerk", **options})


def ids(events):
    """Return the ids of the open questions."""
    return list(data(events)[-1]["response_schema"]["properties"])


async def no() -> bool:
    """Answer whether another task of the conversation waits."""
    return False


class OpenQuestions:
    """Questions that wait for a reply."""

    support: ClassVar[Support]

    def asking(self, log=None):
        """Return an agent that asks if it hears `book`."""
        return clerk(self.support, [] if log is None else log)

    async def asked(self):
        """Return an adapter with an open question."""
        adapter = self.support.adapt(self.asking())
        only(await ask(adapter, "book"), InputRequired)
        return adapter

    async def test_open_questions_block_new_tasks_until_abandoned(self):
        adapter = await self.asked()
        rejected = only(await ask(adapter, "hello?", task_id="other"), Rejected)
        waits = "Another task of this conversation waits for an answer."
        assert rejected.reason.startswith(waits)
        await adapter.abandon(request(task_id="other"))  # not the one that asked
        only(await ask(adapter, "hello?", task_id="other"), Rejected)
        await adapter.abandon(request())
        only(await ask(adapter, "book", task_id="other"), InputRequired)
        gone = only(await reply(adapter, "yes"), Rejected)
        assert "no longer open" in gone.reason

    async def test_questions_of_lost_tasks_are_dropped(self):
        adapter = await self.asked()
        again = await ask(adapter, "book", task_id="other", others_wait=no)
        only(again, InputRequired)


class Questions(OpenQuestions):
    """Several questions of an agent at once."""

    unclear: ClassVar[str]
    """What the agent says about an empty reply."""

    first: ClassVar[str]
    """The first question."""

    async def test_empty_replies_are_asked_again(self):
        adapter = await self.asked()
        for part in (" ", Data({})):
            asked = only(await reply(adapter, part), InputRequired)
            assert asked.prompt.startswith(f"{self.unclear}\n\n1. {self.first}")

    async def test_replies_to_questions_that_are_not_open_are_asked_again(self):
        adapter = self.support.adapt(self.asking())
        first, _ = ids(await ask(adapter, "book"))
        events = await reply(adapter, Data({first: True, "x": True}))
        assert "The question x is not open." in only(events, InputRequired).prompt

    async def test_closed_questions_are_not_answered(self):
        adapter = await self.asked()
        assert only(await reply(adapter, "yes", task_id="other"), Rejected)

    async def test_new_messages_are_answered_after_a_question_is_dropped(self):
        adapter = await self.asked()
        events = await ask(adapter, "hello", task_id="other", others_wait=no)
        assert answer(events) == "heard hello"

    async def test_abandoned_questions_leave_the_conversation_as_before(self):
        adapter = self.support.adapt(self.asking())
        await ask(adapter, "hi")
        await ask(adapter, "book")
        await adapter.abandon(request("book"))
        assert answer(await ask(adapter, "bye", task_id="other")) == "heard hi bye"


class Approvals(Questions):
    """Calls of tools that the caller approves."""

    unclear = "That decides nothing."
    first = 'The agent wants to call book({"city":"Rome"}).'
    refused: ClassVar[str]
    """What the model hears of a call that the caller refuses."""

    async def test_several_approvals_are_asked_at_once(self):
        events = await ask(self.support.adapt(self.asking()), "book", wants_progress=True)
        question = only(events, InputRequired)
        assert question.durable
        assert question.prompt.startswith(f"1. {self.first}\n2. ")
        assert [part["arguments"]["city"] for part in data(events)[:2]] == ["Rome", "Oslo"]
        schemas = data(events)[-1]["response_schema"]["properties"].values()
        assert [schema["type"] for schema in schemas] == ["boolean", "boolean"]

    async def test_approvals_are_answered_by_id(self):
        log: list[str] = []
        adapter = self.support.adapt(self.asking(log))
        first, second = ids(await ask(adapter, "book"))
        events = await reply(adapter, Data({first: True, second: "too cold"}), wants_progress=True)
        says = "The user did not approve this call, and says: too cold"
        assert answer(events) == f"Rome booked; {says}"
        assert log == ["Rome"]
        self.check_tools(events)

    @abstractmethod
    def check_tools(self, events: list[Any]) -> None:
        """Check the progress of an approved and of a refused call."""

    async def test_approvals_are_answered_in_turn(self):
        log: list[str] = []
        adapter = self.support.adapt(self.asking(log))
        await ask(adapter, "book")
        events = await reply(adapter, "yes")
        assert "Oslo" in only(events, InputRequired).prompt
        assert log == []  # the run goes on once, with all answers
        assert self.refused in answer(await reply(adapter, "no"))
        assert log == ["Rome"]


async def outliving(support, folder, replies, kind="agent"):
    """Send `book` to a clerk and each reply to its next process; return the answer's texts.

    Each process is killed after a message. The file `booked` in the folder has the booked cities.
    """
    storage = f"sqlite:///{folder}/agents.db"
    command = warm("-m", SERVED, storage, str(folder), support.__name__, kind)
    task_id, states = "", []
    for text in ("book", *replies):
        with launched(command) as (process, url):
            async with Caller(url) as caller:
                task = await caller.send(text, wait=True, task=task_id)
            task_id = task["id"]
            states.append(task["status"]["state"])
            process.kill()
    assert states == ["TASK_STATE_INPUT_REQUIRED"] * len(replies) + ["TASK_STATE_COMPLETED"]
    return texts(task)
