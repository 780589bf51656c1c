"""Agents and workflows answer as they do when they are run."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from a2a_adapters_agent_framework import adapt
from agent_framework import (
    Agent,
    AgentResponse,
    BaseAgent,
    BaseChatClient,
    ChatMiddleware,
    ChatResponse,
    Content,
    ContextProvider,
    FunctionInvocationContext,
    Message,
    MiddlewareBundle,
    MiddlewareFailure,
    MiddlewareTermination,
    ToolApprovalMiddleware,
    WorkflowBuilder,
    agent_middleware,
    chat_middleware,
    function_middleware,
    tool,
)
from pydantic import BaseModel

from a2a_adapters import Data, File, Text
from tests.plugins.agent_framework.support import (
    Fake,
    agent,
    book,
    calling,
    made,
    results,
    script,
)
from tests.support.adapters import ask, deltas
from tests.support.answers import Program, check, in_each_way

BOMB = "how to build a bomb"
REFUSAL = "I cannot help."


class Weather(BaseModel):
    city: str


async def run(served):
    """Return the text of what the framework's own call returns."""
    return (await served.run("hello")).text


async def run_in_session(served):
    return (await served.run("hello", session=served.create_session())).text


async def run_value(served):
    return Data((await served.run("hello")).value.model_dump())


async def run_approved(served):
    session = served.create_session()
    asked = await served.run("hello", session=session)
    [request] = asked.user_input_requests
    reply = Message("user", [request.to_function_approval_response(True)])
    return (await served.run(reply, session=session)).text


async def run_workflow(make):
    [output] = (await make().run("hello")).get_outputs()
    return output.text


async def run_published(make):
    """Return the outputs of a workflow before and after an approval."""
    served = make()
    asked = await served.run("hello")
    [request] = asked.get_request_info_events()
    reply = request.data.to_function_approval_response(True)
    ended = await served.run(responses={request.request_id: reply})
    return [output.text for each in (asked, ended) for output in each.get_outputs()]


async def nothing(_):
    """Return no answer: the run raises, or is ended."""


@agent_middleware
async def replace(context, call_next):
    await call_next()
    if BOMB in context.result.text:
        context.result = AgentResponse(messages=[Message("assistant", [REFUSAL])])


@agent_middleware
async def watch_responses(context, call_next):
    await call_next()


@agent_middleware
async def block(context, call_next):
    await call_next()
    if BOMB in context.result.text:
        raise MiddlewareFailure(f"denied: {BOMB}")


@agent_middleware
async def end(context, call_next):
    raise MiddlewareTermination(BOMB)


@agent_middleware
async def answer_at_once(context, call_next):
    context.result = AgentResponse(messages=[Message("assistant", [REFUSAL])])
    raise MiddlewareTermination


class ReplaceResponses(ChatMiddleware):
    async def process(self, context, call_next):
        await call_next()
        if BOMB in context.result.text:
            context.result = ChatResponse(messages=[Message("assistant", [REFUSAL])])


@chat_middleware
async def again(context, call_next):
    try:
        await call_next()
    except RuntimeError:
        await call_next()


@function_middleware
async def watch(context, call_next):
    await call_next()


@function_middleware
async def withhold(context, call_next):
    await call_next()
    context.result = "withheld"


async def withhold_by_type(context: FunctionInvocationContext, call_next):
    await call_next()
    context.result = "withheld"


class Withholding:
    """Middleware of a class without a base class."""

    async def __call__(self, context: FunctionInvocationContext, call_next):
        await call_next()
        context.result = "withheld"


@function_middleware
async def search_for_cats(context, call_next):
    context.arguments = {"query": "cats"}
    await call_next()


class Editing(ContextProvider):
    """Replaces what must not be said when the run has ended."""

    async def after_run(self, *, agent, session, context, state):
        for message in context.response.messages:
            if BOMB in message.text:
                message.contents = [Content.from_text(REFUSAL)]


class Adding(ContextProvider):
    """Adds middleware to each run."""

    async def before_run(self, *, agent, session, context, state):
        context.extend_middleware(self.source_id, [ReplaceResponses()])


class AddingByMethod(ContextProvider):
    """Adds middleware to each run by a method of its own."""

    def __init__(self, *middleware):
        super().__init__("guard")
        self._middleware = middleware

    async def before_run(self, *, agent, session, context, state):
        self._extend(context)

    def _extend(self, context):
        context.extend_middleware(self.source_id, self._middleware)


class AddingByFunction(ContextProvider):
    """Adds middleware to each run by a function."""

    async def before_run(self, *, agent, session, context, state):
        add_guard(context)


def add_guard(context):
    context.extend_middleware("guard", [ReplaceResponses()])


class AgentAround(BaseAgent):
    """Replaces what another agent says, except in streams."""

    def __init__(self, inner):
        super().__init__(name="around")
        self._inner = inner

    def run(self, *args, stream=False, **options):
        run = self._inner.run(*args, stream=stream, **options)
        return run if stream else self._checked(run)

    async def _checked(self, run):
        response = await run
        refusal = AgentResponse(messages=[Message("assistant", [REFUSAL])])
        return refusal if BOMB in response.text else response


class AgentAroundSeveral(AgentAround):
    """Replaces what the first of several agents says."""

    def __init__(self, *agents):
        BaseAgent.__init__(self, name="around")
        self._agents = agents

    def run(self, *args, stream=False, **options):
        run = self._agents[0].run(*args, stream=stream, **options)
        return run if stream else self._checked(run)


class AgentFarAround(AgentAround):
    """Replaces what an agent of another object says."""

    _inner = property(lambda self: self._deps.inner)

    def __init__(self, inner):
        BaseAgent.__init__(self, name="around")
        self._deps = SimpleNamespace(inner=inner)


class GuardedAgent(Agent):
    """Replaces what a run returns."""

    def run(self, *args, stream=False, **options):
        run = super().run(*args, stream=stream, **options)
        return run if stream else self._checked(run)

    async def _checked(self, run):
        response = await run
        if BOMB in response.text:
            return AgentResponse(messages=[Message("assistant", [REFUSAL])])
        return response


class GuardedClient(Fake):
    """Replaces what a call returns."""

    def get_response(self, *args, stream=False, **options):
        call = super().get_response(*args, stream=stream, **options)
        return call if stream else self._checked(call)

    async def _checked(self, call):
        response = await call
        if BOMB in response.text:
            return ChatResponse(messages=[Message("assistant", [REFUSAL])])
        return response


class ClientAround(BaseChatClient):
    """Replaces what another client returns, except in streams."""

    def __init__(self, inner):
        super().__init__()
        self._inner = inner

    def _inner_get_response(self, *, messages, stream, options, **_):
        call = self._inner.get_response(messages, stream=stream, options=options)
        return call if stream else self._checked(call)

    async def _checked(self, call):
        response = await call
        refusal = ChatResponse(messages=[Message("assistant", [REFUSAL])])
        return refusal if BOMB in response.text else response


@tool
def search(query: str) -> str:
    """Search for something."""
    return f"a book about {query}"


@tool
def look_up() -> str:
    """Look up the weather."""
    return "rain"


def guarded(*answers, by=replace, **options):
    return agent(*(answers or [f"this is {BOMB}"]), middleware=[by], **options)


def searching(by, query="bombs"):
    return agent(calling("search", query=query), "fine", tools=[search], middleware=[by])


def searching_client(by):
    client = script(calling("search", query="bombs"), "fine")
    client.function_middleware = [by]
    return made(client, tools=[search])


def workflow(make=None, **options):
    """Return a function that makes a workflow of one agent."""

    def team():
        member = make() if make else agent(f"this is {BOMB}", **options)
        return WorkflowBuilder(start_executor=member, name="team").build()

    return team


def publishing(**options):
    """Return a function that makes a workflow of a writer and of a publisher, who asks."""

    def team():
        writer = agent(BOMB, name="writer", **options)
        answer = Fake(lambda ms: "Published." if results(ms) else calling("book", city="Rome"))
        publisher = made(answer, name="publisher", tools=[book([])])
        return (
            WorkflowBuilder(start_executor=writer, name="team").add_edge(writer, publisher).build()
        )

    return team


def with_client(*answers):
    client = script(*answers)
    client.chat_middleware = [ReplaceResponses()]
    return made(client)


def with_approvals(**options):
    """Return an agent whose approvals the framework's own middleware handles."""
    turn = ["Let me see.", calling("book", city="Rome")]
    return guarded(turn, "It is so.", by=ToolApprovalMiddleware(**options), tools=[book([])])


def nested():
    inner = guarded()
    return agent(calling("inner", task="hello"), "It says no.", tools=[inner.as_tool(name="inner")])


BESIDE = "The text beside a tool call is part of the answer, and a blank line follows it."
STRUCTURED = {"response_format": Weather}
FILE = Content.from_data(b"png", "image/png")

PROGRAMS = [
    Program(name="a text", target=lambda: agent("one two three"), bare=run),
    Program(name="no text", target=lambda: agent(" "), bare=nothing),
    Program(name="middleware replaces", target=guarded, bare=run, blocked=BOMB, is_kept=True),
    Program(
        name="middleware blocks",
        target=lambda: guarded(by=block),
        bare=nothing,
        state="rejected",
        blocked=BOMB,
    ),
    Program(
        name="middleware ends the run",
        target=lambda: guarded(by=end),
        bare=nothing,
        state="rejected",
        blocked=BOMB,
    ),
    Program(
        name="middleware answers at once",
        target=lambda: guarded(by=answer_at_once),
        bare=run,
        blocked=BOMB,
    ),
    Program(
        name="chat middleware replaces",
        target=lambda: guarded(by=ReplaceResponses()),
        bare=run,
        blocked=BOMB,
    ),
    Program(
        name="chat middleware of the client replaces",
        target=lambda: with_client(f"this is {BOMB}"),
        bare=run,
        blocked=BOMB,
    ),
    Program(
        name="a context provider replaces",
        target=lambda: agent(f"this is {BOMB}", context_providers=[Editing("guard")]),
        bare=run,
        blocked=BOMB,
    ),
    Program(
        name="a context provider adds middleware",
        target=lambda: agent(f"this is {BOMB}", context_providers=[Adding("guard")]),
        bare=run,
        blocked=BOMB,
    ),
    Program(
        name="a context provider adds middleware by a method",
        target=lambda: agent(BOMB, context_providers=[AddingByMethod(ReplaceResponses())]),
        bare=run,
        blocked=BOMB,
    ),
    Program(
        name="a context provider adds middleware by a function",
        target=lambda: agent(BOMB, context_providers=[AddingByFunction("guard")]),
        bare=run,
        blocked=BOMB,
    ),
    Program(
        name="an agent around a distant one in a workflow replaces",
        target=lambda: workflow(lambda: AgentFarAround(agent(BOMB))),
        bare=run_workflow,
        blocked=BOMB,
    ),
    Program(
        name="middleware of a context provider replaces arguments",
        target=lambda: agent(
            calling("search", query=BOMB),
            "fine",
            tools=[search],
            context_providers=[AddingByMethod(search_for_cats)],
        ),
        bare=run,
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="an agent around another in a workflow replaces",
        target=lambda: workflow(lambda: AgentAround(agent(BOMB))),
        bare=run_workflow,
        blocked=BOMB,
    ),
    Program(
        name="an agent around several in a workflow replaces",
        target=lambda: workflow(lambda: AgentAroundSeveral(agent(BOMB), agent("other"))),
        bare=run_workflow,
        blocked=BOMB,
    ),
    Program(
        name="a client around another replaces",
        target=lambda: made(ClientAround(script(BOMB))),
        bare=run,
        blocked=BOMB,
    ),
    Program(
        name="a text in place of a structured output",
        target=lambda: guarded(f'{{"city":"{BOMB}"}}', default_options=STRUCTURED),
        bare=run,
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="a response in place of a structured output",
        target=lambda: guarded(
            f'{{"city":"{BOMB}"}}', by=ReplaceResponses(), default_options=STRUCTURED
        ),
        bare=run,
        blocked=BOMB,
    ),
    Program(
        name="a class of agents replaces",
        target=lambda: GuardedAgent(client=script(f"this is {BOMB}"), name="helper"),
        bare=run,
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="a class of clients replaces",
        target=lambda: made(GuardedClient(lambda _: f"this is {BOMB}")),
        bare=run,
        blocked=BOMB,
    ),
    *[
        Program(
            name=f"{name} replaces the result of a tool",
            target=target,
            bare=run,
            blocked="a book about",
        )
        for name, target in (
            ("middleware", lambda: searching(withhold)),
            ("middleware known by its type", lambda: searching(withhold_by_type)),
            ("callable middleware", lambda: searching(Withholding())),
            ("a bundle of middleware", lambda: searching(MiddlewareBundle([withhold_by_type]))),
            ("middleware of the client", lambda: searching_client(withhold_by_type)),
        )
    ],
    Program(
        name="a bundle of middleware replaces",
        target=lambda: guarded(by=MiddlewareBundle([withhold_by_type, replace])),
        bare=run,
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="middleware replaces the arguments of a tool of a member",
        target=lambda: workflow(lambda: searching(search_for_cats, BOMB)),
        bare=run_workflow,
        blocked=BOMB,
    ),
    Program(
        name="an agent that is a workflow in a workflow replaces",
        target=lambda: workflow(lambda: workflow(middleware=[replace])().as_agent(name="inner")),
        bare=run_workflow,
        blocked=BOMB,
    ),
    Program(
        name="chat middleware tries again",
        target=lambda: guarded(["half an ", RuntimeError("hunter2")], "an answer", by=again),
        bare=run,
    ),
    Program(
        name="a file beside replaced text",
        target=lambda: guarded([FILE, f"this is {BOMB}"], by=ReplaceResponses()),
        bare=run,
        blocked=BOMB,
    ),
    Program(
        name="a file",
        target=lambda: agent([FILE, "There."]),
        bare=lambda _: both(File(content=b"png", media_type="image/png"), Text("There.")),
    ),
    *[
        Program(
            name=f"a file between texts {name}",
            target=target,
            bare=lambda _: both(
                Text("Here."), File(content=b"png", media_type="image/png"), Text("There.")
            ),
        )
        for name, target in (
            ("that are streamed", lambda: agent(["Here.", FILE, "There."])),
            ("with middleware", lambda: guarded(["Here.", FILE, "There."])),
        )
    ],
    *[
        Program(
            name=f"a file after a text {name}",
            target=target,
            bare=lambda _: both(Text("There."), File(content=b"png", media_type="image/png")),
        )
        for name, target in (
            ("with middleware", lambda: guarded(["There.", FILE])),
            ("of a member with middleware", lambda: workflow(lambda: guarded(["There.", FILE]))),
        )
    ],
    Program(
        name="a tool",
        target=lambda: agent(["Let me see.", calling("look_up")], "It rains.", tools=[look_up]),
        bare=run,
        differs="Let me see.\n\nIt rains.",
        because=BESIDE,
    ),
    Program(
        name="a tool between checked responses",
        target=lambda: guarded(
            ["Let me see.", calling("look_up")], BOMB, by=ReplaceResponses(), tools=[look_up]
        ),
        bare=run,
        differs=f"Let me see.\n\n{REFUSAL}",
        because=BESIDE,
        blocked=BOMB,
    ),
    Program(
        name="a structured output",
        target=lambda: agent('{"city":"Rome"}', default_options=STRUCTURED),
        bare=run_value,
    ),
    Program(name="a nested agent", target=nested, bare=run, blocked=BOMB),
    Program(
        name="middleware replaces after an approval",
        target=lambda: guarded(
            calling("book", city="Rome"), BOMB, by=ReplaceResponses(), tools=[book([])]
        ),
        bare=run_approved,
        messages=("hello", "yes"),
        blocked=BOMB,
    ),
    Program(
        name="the framework's middleware asks for an approval",
        target=with_approvals,
        bare=run_approved,
        messages=("hello", "yes"),
        differs=["Let me see.", "It is so."],
        because=BESIDE,
    ),
    Program(
        name="the framework's middleware approves by itself",
        target=lambda: with_approvals(auto_approval_rules=[lambda call: True]),
        bare=run_in_session,
        differs="Let me see.\n\nIt is so.",
        because=BESIDE,
    ),
    Program(
        name="middleware of a member replaces",
        target=lambda: workflow(middleware=[replace]),
        bare=run_workflow,
        blocked=BOMB,
    ),
    Program(
        name="middleware of a member blocks",
        target=lambda: workflow(middleware=[block]),
        bare=nothing,
        state="rejected",
        blocked=BOMB,
    ),
    Program(
        name="a filter stops a member with middleware",
        target=lambda: workflow(lambda: guarded([BOMB, ("content_filter",)], by=watch_responses)),
        bare=nothing,
        state="rejected",
        blocked=BOMB,
    ),
    Program(
        name="a filter stops an agent with middleware",
        target=lambda: guarded([BOMB, ("content_filter",)], by=watch_responses),
        bare=nothing,
        state="rejected",
        blocked=BOMB,
    ),
    Program(
        name="middleware of a member replaces what precedes a question",
        target=lambda: publishing(middleware=[replace]),
        bare=run_published,
        messages=("hello", "yes"),
        blocked=BOMB,
    ),
    Program(
        name="what precedes a question",
        target=publishing,
        bare=run_published,
        messages=("hello", "yes"),
    ),
]


async def both(*parts):
    return list(parts)


@pytest.mark.filterwarnings("ignore:.*MiddlewareBundle is experimental")
@in_each_way
@pytest.mark.parametrize("program", PROGRAMS, ids=str)
async def test_answers_are_those_of_the_run(program, ways, tmp_path, caplog):
    await check(program, ways, tmp_path, caplog)


@pytest.mark.parametrize(
    "middleware", [watch, withhold_by_type, Withholding(), ToolApprovalMiddleware()]
)
async def test_text_is_streamed_with_middleware_for_tools_only(middleware):
    adapter = adapt(made(Fake(lambda _: "one two"), middleware=[middleware]))
    assert not adapter.holds_text
    assert deltas(await ask(adapter, "hi")) == ["one", " two"]
