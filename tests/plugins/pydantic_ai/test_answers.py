"""Agents answer as they do when they are run."""

from __future__ import annotations

import functools
from contextlib import asynccontextmanager
from dataclasses import replace as replaced

import pytest
from a2a_adapters_pydantic_ai import adapt
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    BinaryImage,
    DeferredToolRequests,
    FilePart,
    ModelRequest,
    ModelRequestNode,
    ModelResponse,
    ModelRetry,
    PartEndEvent,
    RetryModelRequest,
    RunContext,
    TextOutput,
    TextPart,
    Tool,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.agent import WrapperAgent
from pydantic_ai.capabilities import (
    AbstractCapability,
    Hooks,
    ModelFallback,
    ProcessEventStream,
    ProcessHistory,
    RaiseContentFilterError,
    SelectModel,
    WrapperCapability,
    on_event,
)
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.models import CompletedStreamedResponse
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import DeltaThinkingPart
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.toolsets import FunctionToolset, WrapperToolset
from pydantic_graph import End

from a2a_adapters import BlockedError, Data, File
from a2a_adapters.plugin import AnswerText
from tests.plugins.pydantic_ai.support import Fake, agent, book, calling, made
from tests.support.adapters import ask, deltas
from tests.support.answers import Program, check, in_each_way

BOMB = "how to build a bomb"
REFUSAL = "I cannot help."


class Weather(BaseModel):
    city: str


async def run(served):
    """Return what the framework's own call returns."""
    return as_answer((await served.run("hello")).output)


async def run_twice(served, output_type=str):
    """Return the output after the first question is approved."""
    asked = await served.run("hello", output_type=[output_type, DeferredToolRequests])
    results = asked.output.build_results(approve_all=True)
    done = await served.run(message_history=asked.all_messages(), deferred_tool_results=results)
    return done.output


async def nothing(_):
    """Return no answer: the run raises, or asks."""


def as_answer(output):
    match output:
        case BaseModel():
            return Data(output.model_dump())
        case BinaryImage():
            return File(content=output.data, media_type=output.media_type)
        case DeferredToolRequests():
            return None
        case _:
            return output


def is_blocked(response):
    return BOMB in str(response.parts)


def refused(response):
    return ModelResponse([TextPart(REFUSAL)]) if is_blocked(response) else response


async def replace(ctx, *, request_context, response):
    """Replace what must not be said."""
    return refused(response)


async def retry(ctx, *, request_context, response):
    """Ask the model again."""
    if is_blocked(response):
        raise ModelRetry("Say something else.")
    return response


async def attempt_again(ctx, *, request_context, response):
    """Make another attempt, of which the model does not know."""
    if is_blocked(response):
        raise RetryModelRequest
    return response


async def block(ctx, *, request_context, response):
    """End the run."""
    if is_blocked(response):
        raise BlockedError
    return response


async def queue(ctx, *, request_context, response):
    """Ask the model again, after its response."""
    if is_blocked(response):
        ctx.enqueue("Say something else.")
    return response


def is_blocked_output(end):
    return BOMB in str(end.data.output)


def another_request():
    return ModelRequestNode(ModelRequest([UserPromptPart("Say something else.")]))


def say_something_else(end):
    return another_request() if is_blocked_output(end) else end


def withhold(message):
    message.parts = [
        replaced(part, content="withheld") if isinstance(part, ToolReturnPart) else part
        for part in message.parts
    ]


def without_results(messages):
    """Withhold the results of tools, as a processor of the history."""
    for message in messages:
        withhold(message)
    return messages


class Guard(AbstractCapability):
    """Replaces what must not be said around the whole request."""

    async def wrap_model_request(self, ctx, *, request_context, handler):
        return refused(await handler(request_context))


class GuardOfNodes(AbstractCapability):
    """Replaces what must not be said before the response is handled."""

    async def before_node_run(self, ctx, *, node):
        if response := getattr(node, "model_response", None):
            return replaced(node, model_response=refused(response))
        return node


class Redirecting(AbstractCapability):
    """Asks the model again in place of the end of the run."""

    async def after_node_run(self, ctx, *, node, result):
        return say_something_else(result) if isinstance(result, End) else result


class RedirectingAround(AbstractCapability):
    """Asks the model again in place of the end of the run, around the node."""

    async def wrap_node_run(self, ctx, *, node, handler):
        result = await handler(node)
        return say_something_else(result) if isinstance(result, End) else result


class SkippingCalls(AbstractCapability):
    """Asks the model again in place of calling its tools."""

    async def wrap_node_run(self, ctx, *, node, handler):
        response = getattr(node, "model_response", None)
        return another_request() if response and is_blocked(response) else await handler(node)


class Queueing(AbstractCapability):
    """Asks the model again once the run would end."""

    async def after_node_run(self, ctx, *, node, result):
        if isinstance(result, End) and is_blocked_output(result):
            ctx.enqueue("Say something else.", priority="when_idle")
        return result


class GuardOfResults(AbstractCapability):
    """Withholds the results of tools from the model."""

    async def before_model_request(self, ctx, request_context):
        for message in request_context.messages:
            withhold(message)
        return request_context


class GuardOfNextRequests(AbstractCapability):
    """Withholds the results of tools from the next request."""

    async def after_node_run(self, ctx, *, node, result):
        if request := getattr(result, "request", None):
            withhold(request)
        return result


class BlockerOfResults(AbstractCapability):
    """Ends the run because of the result of a tool."""

    async def before_model_request(self, ctx, request_context):
        if "a book about" in str(request_context.messages):
            raise BlockedError
        return request_context


class GuardOfArguments(AbstractCapability):
    """Replaces the arguments of tools."""

    async def before_tool_execute(self, ctx, *, call, tool_def, args):
        return {"query": "cats"}


class GuardOfCalls(WrapperToolset):
    """Replaces the arguments and the results of tools."""

    async def call_tool(self, name, tool_args, ctx, tool):
        await super().call_tool(name, {"query": "cats"}, ctx, tool)
        return "withheld"


class GuardOfModels(AbstractCapability):
    """Replaces what must not be said in whole responses of whatever model serves a request."""

    def get_wrapper_model(self, model):
        return GuardedModel(model)


class GuardedRuns(WrapperAgent):
    """Replaces what a run returns."""

    async def run(self, *args, **options):
        result = await super().run(*args, **options)
        result.output = REFUSAL if BOMB in result.output else result.output
        return result


class Listener(WrapperAgent):
    """Blocks what must not be said by a reader of its events."""

    @property
    def event_stream_handler(self):
        return no_bomb_at_the_end


class GuardedIteration(Agent):
    """Replaces what a run returns where the run is made."""

    @asynccontextmanager
    async def iter(self, *args, **options):
        async with super().iter(*args, **options) as run:
            yield run
        if BOMB in run.result.output:
            run.result.output = REFUSAL


async def no_bomb_in_events(ctx, event):
    if isinstance(event, PartEndEvent) and is_blocked(ModelResponse([event.part])):
        raise BlockedError


async def no_bomb_in_stream(ctx, *, stream):
    async for event in stream:
        await no_bomb_in_events(ctx, event)
        yield event


async def no_bomb_at_the_end(ctx, stream):
    async for event in stream:
        await no_bomb_in_events(ctx, event)


class Listening(AbstractCapability):
    """Blocks what must not be said by a method for events."""

    @on_event
    async def _check(self, ctx, event: PartEndEvent):
        await no_bomb_in_events(ctx, event)


class GuardOfRuns(AbstractCapability):
    """Replaces what a run returns."""

    async def after_run(self, ctx, *, result):
        if BOMB in result.output:
            result.output = REFUSAL
        return result


class Wrapped(WrapperCapability):
    """Replaces what must not be said by a capability around another."""

    async def after_model_request(self, ctx, *, request_context, response):
        return refused(response)


class GuardedModel(WrapperModel):
    """Replaces what must not be said in whole responses only."""

    async def request(self, *args):
        return refused(await super().request(*args))


def guarded(*answers, by=replace, **options):
    """Return an agent whose hook checks the responses of its model."""
    answers = answers or (["hm", f"this is {BOMB}"],)
    return agent(*answers, capabilities=[Hooks(after_model_request=by)], **options)


def guarded_by_object():
    """Return an agent with a capability whose hook is set on the object."""
    guard = Hooks()
    guard.after_model_request = replace
    return agent(f"this is {BOMB}", capabilities=[guard])


def search(query: str) -> str:
    """Search for something."""
    return f"a book about {query}"


async def no_bomb_for_tools(ctx, query: str):
    if BOMB in query:
        raise ModelRetry("Search for something else.")


def toolset_of_a_function():
    """Return an agent whose guarded toolset is made for each run."""
    served = searching()
    served.toolset(lambda ctx: GuardOfCalls(FunctionToolset([search])))
    return served


def patched_model():
    """Return a model whose method is replaced on the object."""
    model = whole(f"this is {BOMB}")
    model.request = GuardedModel(whole(f"this is {BOMB}")).request
    return model


def patched_agent():
    """Return an agent whose method is replaced on the object."""
    served = agent(f"this is {BOMB}")
    served.run = GuardedRuns(agent(f"this is {BOMB}")).run
    return served


def searching(**options):
    """Return an agent that searches for what is replaced."""
    return agent(calling("search", query=BOMB), "fine", **options)


async def look_around(ctx: RunContext) -> str:
    """Look around, and have the model summarise its answer."""
    ctx.enqueue("And now summarise.", priority="when_idle")
    return "rain"


def with_tool(served):
    """Add a tool to an agent."""

    @served.tool_plain
    def look_up() -> str:
        """Look up the weather."""
        return "rain"

    return served


def validated(*answers, by="", **options):
    """Return an agent whose validator refuses or changes its output."""
    served = with_tool(agent(*answers, **options))

    @served.output_validator
    def no_bomb(output: str) -> str:
        if BOMB in output and not by:
            raise ModelRetry("Say something else.")
        return by if BOMB in output else output

    return served


def dying():
    """Return a model that fails after half of an answer."""
    return Fake(lambda _: ["half an ", ModelAPIError("first", "hunter2")])


def whole(answer):
    """Return a model that gives an answer each time."""
    return Fake(lambda _: answer)


def refuses(response: ModelResponse) -> bool:
    return is_blocked(response)


IMAGE = FilePart(BinaryImage(b"png", media_type="image/png"))


class Drawing(Fake):
    """Answers with images and texts, the parts of a response each time."""

    def __init__(self, *answers):
        super().__init__(lambda _: "")
        self._left = [*answers]

    def request_stream(self, *args, **kwargs):
        return Drawn(ModelResponse(self._left.pop(0)), args[2])

    async def request(self, *_):
        return ModelResponse(self._left.pop(0))


class Drawn:
    def __init__(self, response, parameters):
        self._response = response
        self._parameters = parameters

    async def __aenter__(self):
        return CompletedStreamedResponse(
            self._response, model_request_parameters=self._parameters, replay_events=True
        )

    async def __aexit__(self, *_):
        pass


async def run_in_order(served):
    """Return the texts and images of all responses of a run in order."""
    messages = (await served.run("hello")).all_messages()
    parts = [part for each in messages for part in each.parts]
    kinds = {TextPart: lambda part: part.content, FilePart: lambda part: as_answer(part.content)}
    return [kinds[type(part)](part) for part in parts if type(part) in kinds]


def captioned(*, calls=False, **options):
    """Return an agent that writes texts around images, and may call a tool between."""
    call = [ToolCallPart("look_up", {}, "c1")] if calls else []
    first = [TextPart("Look:"), IMAGE, TextPart("One."), *call]
    drawing = made(Drawing(first, [IMAGE, TextPart("Two.")]), **options)
    return with_tool(drawing) if calls else drawing


def asking_with_image(**options):
    """Return an agent that writes texts and an image before it asks for an approval."""
    asking = ToolCallPart("book", {"city": "Rome"}, "c1")
    first = [TextPart("Look:"), IMAGE, TextPart("One."), asking]
    return made(Drawing(first, [TextPart("Done.")]), tools=[book([])], **options)


def upper(text: str) -> str:
    return text.upper()


async def accept(ctx, *, request_context, response):
    return response


def checked_by(served, validate):
    served.output_validator(validate)
    return served


def filtered():
    """Return an agent whose model's content filter stops its answer."""
    return agent(BOMB, capabilities=[RaiseContentFilterError(), FilteredByModel()])


class FilteredByModel(AbstractCapability):
    """Marks responses as stopped by the filter of the model."""

    async def after_model_request(self, ctx, *, request_context, response):
        response.finish_reason = "content_filter"
        return response


def nested():
    """Return an agent whose tool is a guarded agent."""
    inner = guarded()
    served = agent(calling("delegate"), "It says no.")

    @served.tool_plain
    async def delegate() -> str:
        """Ask another agent."""
        return (await inner.run("hello")).output

    return served


BESIDE = "The text beside a tool call is part of the answer."
KEPT = {"blocked": BOMB, "is_kept": True}
"""The framework itself keeps a response that is asked for again in the history."""

PROGRAMS = [
    Program(name="a text", target=lambda: agent("one two three"), bare=run),
    Program(name="no text", target=lambda: agent(" "), bare=nothing),
    Program(name="a hook replaces", target=guarded, bare=run, blocked=BOMB),
    Program(
        name="a hook asks again",
        target=lambda: guarded(f"this is {BOMB}", "an answer", by=retry),
        bare=run,
        **KEPT,
    ),
    Program(
        name="a hook attempts again",
        target=lambda: guarded(f"this is {BOMB}", "an answer", "an answer", by=attempt_again),
        bare=run,
        blocked=BOMB,
    ),
    *(
        Program(
            name=f"{name} asks again",
            target=lambda guard=guard: agent(f"this is {BOMB}", "an answer", capabilities=[guard]),
            bare=run,
            **KEPT,
        )
        for name, guard in (
            ("a hook of nodes", Redirecting()),
            ("a hook around nodes", RedirectingAround()),
            ("a hook by its queue", Hooks(after_model_request=queue)),
            ("a hook of nodes by its queue", Queueing()),
        )
    ),
    Program(
        name="a hook around nodes skips calls",
        target=lambda: agent(
            [f"this is {BOMB}", calling("search", query=BOMB)],
            "an answer",
            tools=[search],
            capabilities=[SkippingCalls()],
        ),
        bare=run,
        **KEPT,
    ),
    Program(
        name="a hook of nodes asks again before an approval",
        target=lambda: agent(
            f"this is {BOMB}",
            calling("book", city="Rome"),
            "Done.",
            tools=[book([])],
            capabilities=[Redirecting()],
        ),
        bare=run_twice,
        messages=("hello", "yes"),
        **KEPT,
    ),
    Program(
        name="a tool asks for a summary",
        target=lambda: agent(calling("look_around"), "It rains.", "Rain.", tools=[look_around]),
        bare=run,
    ),
    *(
        Program(
            name=f"{name} withholds results",
            target=lambda guard=guard: agent(
                calling("search", query="it"), "fine", tools=[search], capabilities=[guard]
            ),
            bare=run,
            blocked="a book about",
        )
        for name, guard in (
            ("a hook", GuardOfResults()),
            ("a hook of nodes", GuardOfNextRequests()),
            ("a processor of the history", ProcessHistory(without_results)),
        )
    ),
    Program(
        name="a hook blocks results",
        target=lambda: agent(
            calling("search", query="it"), "fine", tools=[search], capabilities=[BlockerOfResults()]
        ),
        bare=nothing,
        state="rejected",
        blocked="a book about",
    ),
    *(
        Program(
            name=f"the reader of {name} blocks",
            target=target,
            bare=nothing,
            state="rejected",
            blocked=BOMB,
        )
        for name, target in (
            ("an agent", lambda: Listener(agent(["hm", f"this is {BOMB}"]))),
            ("an agent inside", lambda: WrapperAgent(Listener(agent(["hm", f"this is {BOMB}"])))),
        )
    ),
    Program(
        name="a hook blocks",
        target=lambda: guarded(by=block),
        bare=nothing,
        state="rejected",
        blocked=BOMB,
    ),
    *(
        Program(
            name=f"{name} blocks",
            target=lambda guard=guard: agent(["hm", f"this is {BOMB}"], capabilities=[guard()]),
            bare=nothing,
            state="rejected",
            blocked=BOMB,
        )
        for name, guard in (
            ("a hook of events", lambda: Hooks(event=no_bomb_in_events)),
            ("a hook of streams", lambda: Hooks(run_event_stream=no_bomb_in_stream)),
            ("a reader of streams", lambda: ProcessEventStream(no_bomb_at_the_end)),
            ("a method for events", Listening),
        )
    ),
    Program(
        name="a class replaces where the run is made",
        target=lambda: GuardedIteration(whole(f"this is {BOMB}")),
        bare=run,
        **KEPT,
    ),
    Program(
        name="a capability replaces",
        target=lambda: agent(f"this is {BOMB}", capabilities=[Guard()]),
        bare=run,
        blocked=BOMB,
    ),
    Program(
        name="a capability around another replaces",
        target=lambda: agent(f"this is {BOMB}", capabilities=[Wrapped(Hooks())]),
        bare=run,
        blocked=BOMB,
    ),
    Program(
        name="a capability of a function replaces",
        target=lambda: agent(f"this is {BOMB}", capabilities=[lambda _: Guard()]),
        bare=run,
        blocked=BOMB,
    ),
    Program(name="a hook of an object replaces", target=guarded_by_object, bare=run, blocked=BOMB),
    Program(
        name="a capability replaces before the response is handled",
        target=lambda: agent(f"this is {BOMB}", capabilities=[GuardOfNodes()]),
        bare=run,
        **KEPT,
    ),
    Program(
        name="an agent around another replaces",
        target=lambda: GuardedRuns(WrapperAgent(agent(f"this is {BOMB}"))),
        bare=run,
        **KEPT,
    ),
    Program(
        name="a capability replaces arguments",
        target=lambda: searching(tools=[search], capabilities=[GuardOfArguments()]),
        bare=run,
        **KEPT,
    ),
    Program(
        name="a toolset replaces arguments and results",
        target=lambda: searching(toolsets=[GuardOfCalls(FunctionToolset([search]))]),
        bare=run,
        **KEPT,
    ),
    Program(
        name="a toolset of a function replaces arguments and results",
        target=toolset_of_a_function,
        bare=run,
        **KEPT,
    ),
    Program(
        name="a tool refuses arguments",
        target=lambda: searching(tools=[Tool(search, args_validator=no_bomb_for_tools)]),
        bare=run,
        **KEPT,
    ),
    Program(
        name="a capability replaces the result",
        target=lambda: agent(f"this is {BOMB}", capabilities=[GuardOfRuns()]),
        bare=run,
        **KEPT,
    ),
    Program(
        name="a validator asks again",
        target=lambda: validated(f"this is {BOMB}", "an answer"),
        bare=run,
        **KEPT,
    ),
    Program(
        name="a validator replaces",
        target=lambda: validated(
            [f"First, {BOMB}.", calling("look_up")], f"this is {BOMB}", by=REFUSAL
        ),
        bare=run,
        **KEPT,
    ),
    Program(
        name="a validator refuses every answer",
        target=lambda: validated(*[f"this is {BOMB}"] * 2),
        bare=nothing,
        state="rejected",
        blocked=BOMB,
    ),
    Program(name="a content filter", target=filtered, bare=nothing, state="rejected", blocked=BOMB),
    Program(
        name="a model that checks whole responses",
        target=lambda: made(GuardedModel(whole(f"this is {BOMB}"))),
        bare=run,
        blocked=BOMB,
    ),
    Program(
        name="a model of an object checks whole responses",
        target=lambda: made(patched_model()),
        bare=run,
        blocked=BOMB,
    ),
    Program(name="an agent of an object replaces", target=patched_agent, bare=run, **KEPT),
    Program(
        name="a model that checks whole responses is one of a fallback",
        target=lambda: made(FallbackModel(GuardedModel(whole(f"this is {BOMB}")), whole("never"))),
        bare=run,
        blocked=BOMB,
    ),
    Program(
        name="a capability selects a model that checks whole responses",
        target=lambda: agent(
            "never", capabilities=[SelectModel(lambda _: GuardedModel(whole(f"this is {BOMB}")))]
        ),
        bare=run,
        blocked=BOMB,
    ),
    Program(
        name="a capability adds a check of whole responses",
        target=lambda: agent(f"this is {BOMB}", capabilities=[GuardOfModels()]),
        bare=run,
        blocked=BOMB,
    ),
    Program(
        name="a hook replaces an image",
        target=lambda: made(
            Drawing([IMAGE, TextPart(f"This is {BOMB}.")]),
            capabilities=[Hooks(after_model_request=replace)],
        ),
        bare=run,
        blocked=BOMB,
    ),
    *(
        Program(
            name=f"images among texts, {name}",
            target=functools.partial(captioned, calls=calls, **options),
            bare=run_in_order,
        )
        for calls in (False, True)
        for name, options in {
            f"streamed, {calls=}": {},
            f"checked, {calls=}": {"capabilities": [Hooks(after_model_request=accept)]},
        }.items()
    ),
    Program(
        name="an image before an approval of an agent that checks its output",
        target=lambda: asking_with_image(output_type=TextOutput(upper)),
        bare=lambda served: run_twice(served, output_type=TextOutput(upper)),
        messages=("hello", "yes"),
    ),
    Program(
        name="an image before an approval of an agent with a hook",
        target=lambda: asking_with_image(capabilities=[Hooks(after_model_request=accept)]),
        bare=run_twice,
        messages=("hello", "yes"),
        differs=["Look:", as_answer(IMAGE.content), "One.", "Done."],
        because="what precedes a question is part of the answer",
    ),
    Program(
        name="images among texts that are checked at the end",
        target=lambda: checked_by(captioned(), lambda text: text),
        bare=run_in_order,
    ),
    Program(
        name="images among texts that are changed at the end",
        target=lambda: checked_by(captioned(), lambda _: "A cat."),
        bare=run,
        differs=["A cat.", as_answer(IMAGE.content)],
        because="the output is the text alone",
    ),
    Program(
        name="a fallback after half of an answer",
        target=lambda: made(FallbackModel(dying(), whole("an answer"))),
        bare=run,
    ),
    Program(
        name="a fallback as a capability",
        target=lambda: made(dying(), capabilities=[ModelFallback(whole("an answer"))]),
        bare=run,
    ),
    Program(
        name="a fallback from a response",
        target=lambda: made(
            FallbackModel(whole(f"this is {BOMB}"), whole("an answer"), fallback_on=refuses)
        ),
        bare=run,
        blocked=BOMB,
    ),
    Program(
        name="a tool",
        target=lambda: with_tool(agent(["Let me see.", calling("look_up")], "It rains.")),
        bare=run,
        differs="Let me see.\n\nIt rains.",
        because=BESIDE,
    ),
    Program(
        name="a tool between checked responses",
        target=lambda: with_tool(
            guarded(["Let me see.", calling("look_up")], f"this is {BOMB}", by=replace)
        ),
        bare=run,
        differs=f"Let me see.\n\n{REFUSAL}",
        because=BESIDE,
        blocked=BOMB,
    ),
    Program(
        name="a structured output",
        target=lambda: agent(calling("final_result", city="Rome"), output_type=Weather),
        bare=run,
    ),
    Program(
        name="an output function as the last step",
        target=lambda: agent(calling("final_result", text="hi"), output_type=[shout]),
        bare=run,
    ),
    Program(name="a nested agent", target=nested, bare=run, blocked=BOMB),
    Program(
        name="an approval",
        target=lambda: agent(calling("book", city="Rome"), "Done.", tools=[book([])]),
        bare=run_twice,
        messages=("hello", "yes"),
    ),
    Program(
        name="a hook replaces after an approval",
        target=lambda: guarded(
            calling("book", city="Rome"), f"this is {BOMB}", tools=[book([])], by=replace
        ),
        bare=run_twice,
        messages=("hello", "yes"),
        blocked=BOMB,
    ),
]


def shout(text: str) -> str:
    """Shout."""
    return text.upper()


@in_each_way
@pytest.mark.parametrize("program", PROGRAMS, ids=str)
async def test_answers_are_those_of_the_run(program, ways, tmp_path, caplog):
    await check(program, ways, tmp_path, caplog)


async def test_checked_text_is_accepted_response_by_response():
    served = with_tool(guarded(["Let me see.", calling("look_up")], f"this is {BOMB}"))
    adapter = adapt(served)
    assert adapter.holds_text
    events = await ask(adapter, "hi", wants_progress=True)
    kinds = [each.text if isinstance(each, AnswerText) else type(each).__name__ for each in events]
    assert kinds.index("Let me see.") < kinds.index("ToolCall")
    assert kinds[-2] == f"Let me see.\n\n{REFUSAL}"


async def test_text_is_streamed_without_checks():
    observed = []
    hooks = Hooks(before_model_request=observe(observed))
    adapter = adapt(agent("one two three", capabilities=[hooks]))
    assert not adapter.holds_text
    assert deltas(await ask(adapter, "hi")) == ["one", " two", " three"]
    assert observed


def observe(log):
    async def observed(ctx, request_context):
        log.append(request_context)
        return request_context

    return observed


async def test_agents_that_are_chosen_later_are_checked_as_well():
    checks = adapt(agent("unused"), agent_for=lambda _: guarded())
    events = await ask(checks, "hi")
    assert BOMB not in str(events)
    assert AnswerText(REFUSAL) in events
    free = adapt(agent("unused"), agent_for=lambda _: agent("one two"))
    assert deltas(await ask(free, "hi")) == ["one", " two"]


async def test_hooks_may_be_registered_after_the_agent_is_served():
    hooks = Hooks()
    adapter = adapt(agent("one two", capabilities=[hooks]))
    assert not adapter.holds_text
    hooks.on.after_model_request(replace)
    assert adapter.holds_text


async def test_progress_has_no_thoughts_that_a_hook_has_replaced():
    thought = {0: DeltaThinkingPart(content=f"hm, {BOMB}")}
    by_function = agent([thought, "fine"], output_type=TextOutput(shout))
    for served in (guarded([thought, "fine"]), validated([thought, "fine"]), by_function):
        events = await ask(adapt(served), "hi", wants_progress=True)
        assert BOMB not in str(events)
