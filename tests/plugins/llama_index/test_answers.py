"""Agents and workflows answer as their own call does."""

from __future__ import annotations

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.callbacks import CallbackManager, EventPayload
from llama_index.core.callbacks.base_handler import BaseCallbackHandler
from llama_index.core.llms import ChatMessage, CompletionResponse
from llama_index.core.llms.callbacks import llm_chat_callback
from workflows import Context, Workflow, step
from workflows.events import Event, HumanResponseEvent, InputRequiredEvent, StartEvent, StopEvent
from workflows.retry_policy import retry_policy, stop_after_attempt, wait_fixed

from a2a_adapters import BlockedError, Data, TextDelta
from a2a_adapters.plugin import Factory
from a2a_adapters.testing import AnswerContract
from tests.plugins.llama_index.flows import Booking, Checked, Flow, Offer, spoken
from tests.plugins.llama_index.support import (
    Fake,
    adapt,
    agent,
    calling,
    made,
    script,
    team,
    tool,
    waiting,
)
from tests.support.adapters import answer, ask
from tests.support.answers import Program, check, in_each_way

BOMB = AnswerContract.blocked
REFUSAL = "I cannot help."


class Guarded(FunctionAgent):
    """Replaces what is forbidden."""

    async def finalize(self, ctx, output, memory):
        if "bomb" in str(output):
            output.response = ChatMessage(REFUSAL, role="assistant")
        return await super().finalize(ctx, output, memory)


class Emptying(FunctionAgent):
    """Answers with nothing."""

    async def finalize(self, ctx, output, memory):
        output.response = ChatMessage("", role="assistant")
        return await super().finalize(ctx, output, memory)


class Blocking(FunctionAgent):
    """Ends the run."""

    async def finalize(self, ctx, output, memory):
        if "bomb" in str(output):
            raise BlockedError("This is not allowed.")
        return output


class Reviewed(Guarded):
    """Asks, and replaces what is forbidden."""

    async def finalize(self, ctx, output, memory):
        await sure(ctx)
        return await super().finalize(ctx, output, memory)


class Announcing(Guarded):
    """Replaces what is forbidden, and asks."""

    async def finalize(self, ctx, output, memory):
        output = await super().finalize(ctx, output, memory)
        await sure(ctx)
        return output


class Repeating(FunctionAgent):
    """Has its model called again."""

    async def take_step(self, *args):
        output = await super().take_step(*args)
        return await super().take_step(*args) if "bomb" in str(output) else output


class Withholding(FunctionAgent):
    """Keeps the results of tools from its model."""

    async def handle_tool_call_results(self, ctx, results, memory):
        for each in results:
            each.tool_output.blocks = []
        return await super().handle_tool_call_results(ctx, results, memory)


class Searching(FunctionAgent):
    """Calls its tools with other arguments."""

    async def _call_tool(self, ctx, tool, tool_input):
        return await super()._call_tool(ctx, tool, {"query": "cats"})


class Audit(Event):
    """Asks for a look at an answer."""


class Speaking(FunctionAgent):
    """Only has more fields and methods of its own."""

    persona: str = "pirate"

    def __init__(self, **options):
        super().__init__(**options)
        self.system_prompt = self.introduction()

    def introduction(self):
        return f"You are a {self.persona}."


class SpeakingTeam(AgentWorkflow):
    """Has a name."""


class Auditing(FunctionAgent):
    """Has a step of its own."""

    @step
    async def audit(self, ev: Audit) -> StopEvent:
        return StopEvent(result=REFUSAL)


class Retrying(Workflow):
    """Fails once after half an answer."""

    def __init__(self):
        super().__init__()
        self.tries = [0]

    @step(retry_policy=retry_policy(wait=wait_fixed(0), stop=stop_after_attempt(2)))
    async def answer(self, ctx: Context, ev: StartEvent) -> StopEvent:
        self.tries[0] += 1
        if self.tries[0] == 1:
            spoken(ctx, "half an ")
            raise RuntimeError("busy")
        spoken(ctx, "an answer")
        return StopEvent(result="an answer")


class Chatting(Workflow):
    """Returns what a model returns."""

    @step
    async def answer(self, ctx: Context, ev: StartEvent) -> StopEvent:
        return StopEvent(result=await script("It rains.").achat([ChatMessage("weather?")]))


class Completing(Workflow):
    """Returns what a model that completes returns."""

    @step
    async def answer(self, ctx: Context, ev: StartEvent) -> StopEvent:
        return StopEvent(result=CompletionResponse(text="It rains.", raw={"id": "r1"}))


class Again(Workflow):
    """Withdraws its first text, and asks."""

    @step
    async def ask(self, ctx: Context, ev: StartEvent) -> StopEvent:
        spoken(ctx, "a draft")
        reply = await sure(ctx)
        return StopEvent(result=f"It is {reply.response}.")


async def sure(ctx):
    """Ask the caller."""
    event = InputRequiredEvent(prefix="Sure?")
    return await ctx.wait_for_event(HumanResponseEvent, waiter_event=event)


class Handler(BaseCallbackHandler):
    """Refuses what a model has said."""

    def __init__(self):
        super().__init__([], [])

    def on_event_end(self, event_type, payload=None, event_id="", **_):
        if "bomb" in str((payload or {}).get(EventPayload.RESPONSE)):
            raise BlockedError("This is not allowed.")

    def on_event_start(self, *_, **__):
        return ""

    def start_trace(self, *_, **__):
        pass

    def end_trace(self, *_, **__):
        pass


class Observed(Fake):
    """A model that reports to its callback handlers, as those of LlamaIndex do."""

    @llm_chat_callback()
    async def astream_chat(self, messages, **options):
        return await super().astream_chat(messages, **options)


def observed(answer):
    model = Observed(lambda _: answer)
    model.callback_manager = CallbackManager([Handler()])
    return made(model, description="Knows the weather.")


def guarded(kind, *answers, **options):
    return kind(llm=script(*answers), name="helper", **options)


def refuse(text):
    return REFUSAL if "bomb" in text else text


def block(text):
    raise BlockedError("This is not allowed.")


def look() -> str:
    """Look."""
    return "rain"


def text_of(result):
    text = getattr(getattr(result, "response", None), "content", result)
    return [text, getattr(result, "structured_response", None)]


def search(query: str) -> str:
    """Search."""
    return f"a book about {query}"


def recipe() -> str:
    """Find a recipe."""
    return BOMB


def asking(inner):
    """Return an agent with a tool that passes on what another agent streams."""

    async def ask(ctx: Context) -> str:
        """Ask the other agent."""
        handler = inner.run(user_msg="hello")
        async for event in handler.stream_events():
            ctx.write_event_to_stream(event)
        return str(await handler)

    return agent(calling("ask"), "It says no.", tools=[waiting(ask)])


async def bare(target):
    """Return the result of the framework's own call."""
    made = target() if isinstance(target, type(refuse)) else target
    result = await made.run(user_msg="hello")
    if isinstance(result, Offer):
        return Data(result.model_dump())
    return text_of(result)


async def said(target):
    """Return the text of a model's response that a workflow returns."""
    return str(await target.run()).removeprefix("assistant: ")


async def replied(target):
    """Return the result after a question was answered with yes."""
    handler = target.run(user_msg="hello")
    async for event in handler.stream_events():
        if isinstance(event, InputRequiredEvent):
            handler.ctx.send_event(HumanResponseEvent(response="yes"))
    return text_of(await handler)


async def nothing(_):
    """Return nothing: the run ends with an exception."""


class TestAnswers(AnswerContract):
    def guarded(self):
        return guarded(Guarded, self.blocked)

    def blocking(self):
        return guarded(Blocking, self.blocked)

    def retrying(self):
        return Retrying()


class TestAnswersOfWorkflows(AnswerContract):
    def guarded(self):
        return Checked(self.blocked, refuse)

    def blocking(self):
        return Checked(self.blocked, block)


class TestAnswersOfTeams(AnswerContract):
    def guarded(self):
        return team(guarded(Guarded, self.blocked))

    def blocking(self):
        return team(guarded(Blocking, self.blocked))


async def texted(ctx, text):
    spoken(ctx, "It may rain.")
    return "It rains."


async def dated(ctx, text):
    spoken(ctx, "It may rain.")
    return {"rain": True}


async def silenced(ctx, text):
    spoken(ctx, "It may rain.")


class Offering(Workflow):
    """Answers with an event of its own."""

    @step
    async def offer(self, ctx: Context, ev: StartEvent) -> Offer:
        spoken(ctx, "It may be cheap.")
        return Offer(price=300, city="Rome")


PROGRAMS = [
    *[
        Program(name=name, target=target, bare=bare, blocked=BOMB, is_kept=is_kept)
        for name, target, is_kept in (
            ("an agent replaces its answer", lambda: guarded(Guarded, BOMB), True),
            (
                "an agent thinks",
                lambda: guarded(Guarded, [{"thought": f"I know {BOMB}"}, "It rains."]),
                False,
            ),
            ("an agent empties its answer", lambda: guarded(Emptying, BOMB), True),
            (
                "an agent replaces text beside data",
                lambda: guarded(Guarded, BOMB, structured_output_fn=lambda _: {"rain": True}),
                True,
            ),
            ("an agent asks its model again", lambda: guarded(Repeating, BOMB, REFUSAL), True),
            ("a member replaces its answer", lambda: team(guarded(Guarded, BOMB)), True),
            (
                "an agent withholds results",
                lambda: guarded(Withholding, calling("recipe"), "fine", tools=[tool(recipe)]),
                False,
            ),
            (
                "an agent replaces arguments",
                lambda: guarded(
                    Searching, calling("search", query=BOMB), "fine", tools=[tool(search)]
                ),
                True,
            ),
            ("a tool passes a guarded text on", lambda: asking(guarded(Guarded, BOMB)), False),
            (
                "a tool passes thoughts on",
                lambda: asking(guarded(Guarded, [{"thought": f"I know {BOMB}"}, "no"])),
                False,
            ),
            ("a step replaces a draft", lambda: Checked(BOMB, refuse), False),
            ("a step drops a draft", lambda: Checked(BOMB, lambda _: None), False),
        )
    ],
    *[
        Program(name=name, target=target, bare=nothing, state="rejected", blocked=BOMB)
        for name, target in (
            ("an agent blocks its answer", lambda: guarded(Blocking, BOMB)),
            ("a callback handler blocks an answer", lambda: observed(BOMB)),
            ("a callback handler of a team blocks", lambda: team(observed(BOMB))),
            ("a step blocks a draft", lambda: Checked(BOMB, block)),
        )
    ],
    Program(
        name="text before a tool call",
        target=lambda: agent(["Let me see.", calling("look")], "It rains.", tools=[tool(look)]),
        bare=bare,
    ),
    Program(
        name="an agent that thinks aloud",
        target=lambda: guarded(ReActAgent, "Thought: I can answer. Answer: It rains."),
        bare=bare,
        blocked="Thought:",
        is_kept=True,
    ),
    Program(name="another result than the text", target=lambda: Flow(texted), bare=bare),
    *[
        Program(name=f"{name} in place of the text", target=target, bare=bare)
        for name, target in (
            ("data", lambda: Flow(dated)),
            ("an event", Offering),
            ("nothing", lambda: Flow(silenced)),
        )
    ],
    Program(name="a class with fields", target=lambda: guarded(Speaking, "Ahoy!"), bare=bare),
    Program(name="a step is tried again", target=Retrying, bare=bare),
    Program(
        name="data",
        target=lambda: Checked("a draft", lambda text: {"text": text}),
        bare=bare,
    ),
    Program(name="a question", target=Booking, bare=replied, messages=("hello", "yes")),
    *[
        Program(
            name=name,
            target=target,
            bare=replied,
            messages=("hello", "yes"),
            blocked=BOMB,
            is_kept=True,
        )
        for name, target in (
            ("an agent asks, and replaces its answer", lambda: guarded(Reviewed, BOMB)),
            ("a member asks, and replaces its answer", lambda: team(guarded(Reviewed, BOMB))),
            ("an agent replaces its answer, and asks", lambda: guarded(Announcing, BOMB)),
        )
    ],
    Program(name="a workflow returns what a model says", target=Chatting, bare=said),
    Program(name="a workflow returns what a model completes", target=Completing, bare=said),
    Program(name="text before a question", target=Again, bare=replied, messages=("hello", "yes")),
]


@in_each_way
@pytest.mark.parametrize("program", PROGRAMS, ids=str)
async def test_answers_are_those_of_the_call(program, ways, tmp_path, caplog):
    await check(program, ways, tmp_path, caplog)


def test_text_is_held_where_it_may_change():
    targets = [guarded(Guarded, "x"), guarded(ReActAgent, "x"), team(guarded(Guarded, "x"))]
    targets += [guarded(Auditing, "x"), team(guarded(Auditing, "x"))]
    assert all(adapt(each).holds_text for each in targets)
    targets = [agent("x"), team(agent("x")), Checked("x", refuse), guarded(Speaking, "x")]
    targets += [team(guarded(Speaking, "x")), SpeakingTeam([agent("x")], root_agent="helper")]
    assert not any(adapt(each).holds_text for each in targets)


async def test_agents_that_are_made_with_a_guard_later_stream_nothing_unchecked():
    adapter = adapt(Factory(lambda: guarded(Guarded, BOMB), agent("x")))
    events = await ask(adapter, "hello")
    assert answer(events) == REFUSAL
    assert not [event for event in events if isinstance(event, TextDelta)]
