"""Agents answer as a run of the framework does."""

from __future__ import annotations

import json
import warnings

import pytest
from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.context import Context
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.apps.app import App
from google.adk.events.event import Event
from google.adk.models.llm_response import LlmResponse
from google.adk.planners.built_in_planner import BuiltInPlanner
from google.adk.plugins import ReflectAndRetryModelPlugin
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.logging_plugin import LoggingPlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools import exit_loop
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.workflow import RetryConfig, Workflow, node
from google.genai.types import (
    Blob,
    Content,
    FinishReason,
    FunctionResponse,
    Part,
    ThinkingConfig,
)
from pydantic import BaseModel

from a2a_adapters import BlockedError, Data, File, TargetError, Text
from a2a_adapters.testing import AnswerContract
from tests.plugins.google_adk.support import adapt, agent, book, calling, composed, model, script
from tests.support.answers import Program, check, in_each_way

BOMB = AnswerContract.blocked
REFUSAL = "I cannot help."
MALFORMED = FinishReason.MALFORMED_FUNCTION_CALL
BROKEN = LlmResponse(error_code=MALFORMED, finish_reason=MALFORMED)


def text_of(response):
    return "".join(part.text or "" for part in (response.content and response.content.parts) or [])


def replaced(response):
    """Return the refusal in place of a response that says what is forbidden."""
    if "bomb" in text_of(response):
        return LlmResponse(content=model(Part(text=REFUSAL)))
    return None


def guard(callback_context, llm_response):
    """Replace what is forbidden."""
    return replaced(llm_response)


def need_source(callback_context, llm_response):
    """End the run if a message has no source."""
    if "Source:" not in text_of(llm_response):
        raise BlockedError("There is no source.")


def allow_two(callback_context, llm_response):
    """Replace each message after two of them."""
    state = callback_context.state
    state["count"] = state.get("count", 0) + 1
    return LlmResponse(content=model(Part(text=REFUSAL))) if state["count"] > 2 else None


def block(callback_context, llm_response):
    """End the run."""
    if "bomb" in text_of(llm_response):
        raise BlockedError("This is not allowed.")


def refuse(callback_context, llm_request):
    """Answer in place of the model."""
    return LlmResponse(content=model(Part(text=REFUSAL)))


def recover(callback_context, llm_request, error):
    """Answer in place of a model that failed."""
    return LlmResponse(content=model(Part(text="an answer")))


def conclude(callback_context):
    """Add a message."""
    return model(Part(text="That is all."))


def repeat(callback_context):
    """Add a message that repeats the last one."""
    last = callback_context.session.events[-1]
    return model(Part(text=f"This was: {text_of(last)}"))


class Guard(BasePlugin):
    """Replaces what any agent says."""

    async def after_model_callback(self, *, llm_response, **_):
        return replaced(llm_response)


class Redaction(BasePlugin):
    """Replaces events."""

    async def on_event_callback(self, *, event, **_):
        if "bomb" in text_of(event):
            return event.model_copy(update={"content": model(Part(text=REFUSAL))})
        return None


class AllowTwo(BasePlugin):
    """Replaces each event after two of them."""

    count = 0

    async def on_event_callback(self, *, event, **_):
        self.count += 1
        if self.count > 2:
            return event.model_copy(update={"content": model(Part(text=REFUSAL))})
        return None


class Registering(BasePlugin):
    """Registers another plugin during a run."""

    async def before_run_callback(self, *, invocation_context):
        manager = invocation_context.plugin_manager
        if manager.get_plugin("guard") is None:
            manager.register_plugin(Guard("guard"))


class Block(BasePlugin):
    """Ends the run."""

    async def on_event_callback(self, *, event, **_):
        if "bomb" in text_of(event):
            raise BlockedError("This is not allowed.")


class Calls(BasePlugin):
    """Changes the arguments of tools."""

    async def before_tool_callback(self, *, tool_args, **_):
        change(None, tool_args, None)


class Answer(BasePlugin):
    """Answers in place of tools."""

    async def before_tool_callback(self, **_):
        return answer_call(None, None, None)


class StrictPlanner(BuiltInPlanner):
    """Replaces what a model has said."""

    def process_planning_response(self, callback_context, response_parts):
        said = LlmResponse(content=model(*response_parts))
        return [Part(text=REFUSAL)] if BOMB in text_of(said) else response_parts


class StrictRunner(InMemoryRunner):
    """Replaces the events of its runs."""

    async def run_async(self, **options):
        async for event in super().run_async(**options):
            event.content = model(Part(text=REFUSAL))
            yield event


class Strict(LlmAgent):
    """Replaces what its model has said."""

    async def _run_async_impl(self, ctx):
        async for event in super()._run_async_impl(ctx):
            if not event.partial and "bomb" in text_of(event):
                event.content = model(Part(text=REFUSAL))
            yield event


class Manager(BaseAgent):
    """Runs an agent that is not its sub-agent."""

    inner: LlmAgent

    async def _run_async_impl(self, ctx):
        async for event in self.inner.run_async(ctx):
            yield event


class Verdict(BaseAgent):
    """Answers with the last final response of its sub-agent."""

    async def _run_async_impl(self, ctx):
        async for event in self.sub_agents[0].run_async(ctx):
            if event.is_final_response():
                text = text_of(event)
        answer = model(Part(text=REFUSAL if "bomb" in text else text))
        yield Event(author=self.name, invocation_id=ctx.invocation_id, content=answer)


class Ending(BaseAgent):
    """Says that it is the end."""

    async def _run_async_impl(self, ctx):
        yield Event(author=self.name, content=model(Part(text="The end.")))


class StrictOutside(LlmAgent):
    """Replaces the events of its run."""

    async def run_async(self, parent_context):
        async for event in super().run_async(parent_context):
            if not event.partial and "bomb" in text_of(event):
                event.content = model(Part(text=REFUSAL))
            yield event


class StrictNode(LlmAgent):
    """Replaces the events of its run as a node."""

    async def _run_impl(self, *, ctx, node_input):
        async for event in super()._run_impl(ctx=ctx, node_input=node_input):
            if not event.partial and "bomb" in text_of(event):
                event.content, event.output = model(Part(text=REFUSAL)), REFUSAL
            yield event


def scrub(tool, args, tool_context, tool_response):
    """Replace the result of a tool."""
    return {"result": REFUSAL}


def change(tool, args, tool_context):
    """Change the arguments of a tool."""
    args["text"] = "flowers"


def answer_call(tool, args, tool_context):
    """Answer in place of a tool."""
    return {"result": "No."}


def write(text: str) -> str:
    """Write."""
    return "done"


def writer(**options):
    return agent(calling("write", text=BOMB), "It rains.", tools=[write], **options)


def ask_boss(text: str) -> dict[str, str]:
    """Ask the boss."""
    return {"status": "pending"}


def asking(*answers, **options):
    call = calling("ask_boss", text=BOMB)
    tools = [LongRunningFunctionTool(ask_boss)]
    return agent(call, "It rains.", *answers, tools=tools, **options)


def check_draft(node_input: str) -> str:
    """Replace a draft."""
    return REFUSAL if "bomb" in node_input else node_input


def app(root, *plugins):
    return App(name="served", root_agent=root, plugins=list(plugins))


def retrying():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        plugin = ReflectAndRetryModelPlugin()
    return app(agent(["half an ", BROKEN], "an answer", name="helper"), plugin)


async def bare(target):
    """Return the parts of the last event of a run that has any."""
    runner = InMemoryRunner(**{"app" if isinstance(target, App) else "agent": target})
    events = await runner.run_debug("hello", quiet=True)
    answers = [event for event in events if event.output is not None or event.content]
    if not answers:
        return None
    if (output := answers[-1].output) is not None:
        return output
    return [each for part in answers[-1].content.parts for each in _parts(part)]


def _parts(part):
    if part.thought:
        return []
    if blob := part.inline_data:
        return [File(content=blob.data, media_type=blob.mime_type)]
    return [Text(part.text)] if part.text and part.text.strip() else []


async def last_text(target):
    """Return the last text of a run that goes on after it."""
    runner = InMemoryRunner(**{"app" if isinstance(target, App) else "agent": target})
    events = await runner.run_debug("hello", quiet=True)
    return [text for event in events if not event.partial and (text := text_of(event))][-1]


async def approved(target):
    """Return what agents say after each call was approved by a message, in the order of names."""
    runner = InMemoryRunner(agent=target)
    events = await runner.run_debug("hello", quiet=True)
    asked = {
        event.author: call
        for event in events
        for call in event.get_function_calls()
        if call.name == "adk_request_confirmation"
    }
    said = []
    for _, call in sorted(asked.items()):
        reply = FunctionResponse(id=call.id, name=call.name, response={"confirmed": True})
        run = runner.run_async(
            user_id="debug_user_id",
            session_id="debug_session_id",
            new_message=Content(role="user", parts=[Part(function_response=reply)]),
        )
        said += [text async for event in run if (text := text_of(event))]
    return "\n\n".join(said)


async def data(target):
    """Return the data that a structured answer is."""
    [text] = await bare(target)
    return Data(Weather.model_validate_json(text.text).model_dump())


async def nothing(_):
    """Return nothing: the framework's run ends with an exception or an error code."""


class Weather(BaseModel):
    city: str
    degrees: int


class TestAnswers(AnswerContract):
    def guarded(self):
        return agent(self.blocked, after_model_callback=guard)

    def blocking(self):
        return agent(self.blocked, after_model_callback=block)

    def retrying(self):
        return retrying()


def look() -> str:
    """Look."""
    return "rain"


def failing(**options):
    """Return a workflow with an agent that fails after a tool, and is run again."""
    looking = agent(
        ["Let me see.", calling("look")],
        RuntimeError(),
        ["Let me look.", calling("look")],
        "It rains.",
        tools=[look],
        retry_config=RetryConfig(initial_delay=0),
        **options,
    )
    return Workflow(name="flow", edges=[("START", looking)])


def adviser():
    """Return an agent whose answer is that of another, which it calls as a tool."""
    tool = AgentTool(agent("Rome.", name="desk"), skip_summarization=True)
    return agent(calling("desk", request="Where to?"), tools=[tool])


class Story(BaseAgent):
    """Runs its sub-agents one after the other."""

    async def _run_async_impl(self, ctx):
        for each in self.sub_agents:
            async for event in each.run_async(ctx):
                yield event


def verdict():
    """Return an agent of one's own that replaces what its sub-agent says."""
    return Verdict(name="verdict", sub_agents=[agent(BOMB, name="inner")])


def loop(**options):
    """Return a writer and a critic who ends the loop."""
    writer = agent("draft one", "draft two", name="writer", **options)
    critic = agent("improve", calling("exit_loop"), name="critic", tools=[exit_loop])
    return composed(LoopAgent, writer, critic, name="desk")


def sequence(last, **options):
    """Return a sequence of an agent that says something, and another one."""
    return composed(SequentialAgent, agent("a draft", name="writer"), last, **options)


def host(desk):
    """Return an agent that speaks, and then passes the conversation on."""
    transfer = calling("transfer_to_agent", agent_name="desk")
    return agent(["One moment.", transfer], name="host", sub_agents=[desk])


WEATHER = '{"city": "Rome", "degrees": 20}'
FILTERED = LlmResponse(error_code="SAFETY")
FILTERED_TEXT = LlmResponse(content=model(Part(text=BOMB)), error_code="SAFETY")
IMAGE = Part(inline_data=Blob(data=b"bombpixels", mime_type="image/png"))
PIXELS = Part(inline_data=Blob(data=b"pixels", mime_type="image/png"))
THOUGHT = Part(text="pondering", thought=True)
DRAFT = f"{BOMB} pondering Ym9tYnBpeGVscw=="
"""What an agent says, thinks and draws; the picture is in base64, as it would be sent."""


def drawing(**options):
    """Return an agent that thinks, says and draws what is forbidden."""
    return agent([THOUGHT, BOMB, IMAGE], **options)


def desk(city):
    """Return an agent that books a trip after a confirmation."""
    return agent(calling("book", city, city=city), f"{city} done.", name=city, tools=[book([])])


def sourced(**options):
    """Return an agent whose callback ends the run if a message has no source."""
    options = {"name": "writer", "after_model_callback": need_source, **options}
    return agent("It rains. Source: me", **options)


def running_sourced():
    """Return a workflow with a function that runs such an agent."""
    inner = sourced()

    @node(rerun_on_resume=True)
    async def checked(ctx: Context, node_input: str) -> str:
        return await ctx.run_node(inner, node_input)

    return Workflow(name="flow", edges=[("START", checked)])


def first(node_input: list[str]) -> str:
    return node_input[0]


def flow(node_input: str) -> str:
    return node_input.upper()


PROGRAMS = [
    Program(
        name="a callback replaces a message",
        target=lambda: agent(BOMB, after_model_callback=guard),
        bare=bare,
        blocked=BOMB,
    ),
    Program(
        name="a callback of a sub-agent",
        target=lambda: agent(
            calling("transfer_to_agent", agent_name="desk"),
            name="host",
            sub_agents=[agent(BOMB, name="desk", after_model_callback=guard)],
        ),
        bare=bare,
        blocked=BOMB,
    ),
    Program(
        name="a callback of an agent in a workflow",
        target=lambda: Workflow(
            name="flow",
            edges=[("START", agent(BOMB, name="writer", after_model_callback=guard))],
        ),
        bare=bare,
        blocked=BOMB,
    ),
    Program(
        name="a plugin replaces a message",
        target=lambda: app(agent(BOMB), Guard("guard")),
        bare=bare,
        blocked=BOMB,
    ),
    Program(
        name="a plugin replaces an event",
        target=lambda: app(agent(BOMB), Redaction("redaction")),
        bare=bare,
        blocked=BOMB,
    ),
    *[
        Program(name=name, target=target, bare=bare, blocked=BOMB)
        for name, target in (
            ("a plugin registers a plugin", lambda: app(agent(BOMB), Registering("registering"))),
            ("an agent of one's own", lambda: Strict(name="strict", model=script(BOMB))),
            ("an agent of one's own around another", verdict),
            ("an agent of one's own as the last of a sequence", lambda: sequence(verdict())),
            ("events of one's own", lambda: StrictOutside(name="strict", model=script(BOMB))),
            ("a node of one's own", lambda: StrictNode(name="strict", model=script(BOMB))),
            (
                "a node of one's own in a workflow",
                lambda: Workflow(
                    name="flow",
                    edges=[("START", StrictNode(name="strict", model=script(BOMB)))],
                ),
            ),
        )
    ],
    *[
        Program(name=name, target=target, bare=bare, blocked=BOMB, is_kept=True)
        for name, target in (
            ("a callback changes a call", lambda: writer(before_tool_callback=change)),
            ("a callback answers a call", lambda: writer(before_tool_callback=answer_call)),
            (
                "a callback of an agent in an attribute changes a call",
                lambda: Manager(name="manager", inner=writer(before_tool_callback=change)),
            ),
            (
                "a callback replaces the result of an agent for a single turn",
                lambda: agent(
                    calling("desk", request="hello"),
                    "It rains.",
                    sub_agents=[agent(BOMB, name="desk", mode="single_turn")],
                    after_tool_callback=scrub,
                ),
            ),
            ("a plugin changes a call", lambda: app(writer(), Calls("calls"))),
            (
                "a function replaces a draft",
                lambda: Workflow(
                    name="flow", edges=[("START", agent(BOMB, name="writer"), check_draft)]
                ),
            ),
        )
    ],
    *[
        Program(
            name=f"{name} a long-running call",
            target=target,
            bare=last_text,
            blocked=BOMB,
            is_kept=True,
        )
        for name, target in (
            ("a callback answers", lambda: asking(before_tool_callback=answer_call)),
            ("a plugin answers", lambda: app(asking(), Answer("answer"))),
        )
    ],
    Program(
        name="a callback changes a long-running call",
        target=lambda: asking("It rains.", before_tool_callback=change),
        bare=nothing,
        messages=("hello", "yes"),
        blocked=BOMB,
        is_kept=True,
        differs=["It rains.", "It rains."],
        because="the caller gives the result",
    ),
    Program(
        name="a plugin blocks the run",
        target=lambda: app(agent(BOMB), Block("block")),
        bare=nothing,
        state="rejected",
        blocked=BOMB,
    ),
    *[
        Program(name=f"{name} sees whole messages only", target=target, bare=bare)
        for name, target in (
            (
                "a callback that raises",
                sourced,
            ),
            (
                "a callback that counts",
                lambda: agent("It rains in Rome today", after_model_callback=allow_two),
            ),
            (
                "a callback of an agent in a workflow",
                lambda: Workflow(name="flow", edges=[("START", sourced())]),
            ),
            (
                "a callback of a parallel worker",
                lambda: Workflow(
                    name="flow", edges=[("START", sourced(parallel_worker=True), first)]
                ),
            ),
            (
                "a callback of an agent in a workflow as a tool",
                lambda: agent(
                    calling("flow", request="hello"),
                    "It rains.",
                    tools=[Workflow(name="flow", edges=[("START", sourced())])],
                ),
            ),
            ("a callback of an agent that a function runs", running_sourced),
            ("a plugin", lambda: app(agent("It rains in Rome today"), AllowTwo("limit"))),
        )
    ],
    Program(
        name="a callback answers in place of the model",
        target=lambda: agent(BOMB, before_model_callback=refuse),
        bare=bare,
        blocked=BOMB,
    ),
    Program(
        name="a callback blocks the run",
        target=lambda: agent(BOMB, after_model_callback=block),
        bare=nothing,
        state="rejected",
        blocked=BOMB,
    ),
    Program(
        name="a filter blocks the answer",
        target=lambda: agent([BOMB, LlmResponse(error_code="SAFETY")], after_model_callback=guard),
        bare=nothing,
        state="rejected",
        blocked=BOMB,
    ),
    *[
        Program(name=name, target=target, bare=nothing, state="rejected", blocked=BOMB)
        for name, target in (
            ("a filter leaves the text", lambda: agent(FILTERED_TEXT)),
            (
                "a filter leaves the output of a workflow",
                lambda: Workflow(name="flow", edges=[("START", agent(FILTERED_TEXT))]),
            ),
            (
                "a filter blocks the first of two agents in parallel",
                lambda: composed(
                    ParallelAgent,
                    agent(FILTERED_TEXT, name="first"),
                    agent("the end", name="second"),
                ),
            ),
            (
                "a filter blocks the last agent of a sequence",
                lambda: sequence(agent([BOMB, FILTERED], after_model_callback=guard)),
            ),
            (
                "a filter blocks an agent in a loop",
                lambda: composed(LoopAgent, agent("a draft", [BOMB, FILTERED]), max_iterations=2),
            ),
            (
                "a filter blocks an agent of an agent of one's own",
                lambda: Story(name="story", sub_agents=[agent([BOMB, FILTERED])]),
            ),
        )
    ],
    Program(
        name="a filter blocks the first agent of a sequence",
        target=lambda: composed(
            SequentialAgent, agent([BOMB, FILTERED], name="writer"), agent("the end")
        ),
        bare=bare,
        blocked=BOMB,
    ),
    *[
        Program(
            name=f"a host and {name}",
            target=target,
            bare=last_text,
            differs=["One moment.", said] if isinstance(said, Data) else f"One moment.\n\n{said}",
            because="what the host says before it passes the conversation on is part of the answer",
        )
        for name, target, said in (
            ("a loop", lambda: host(loop()), "draft two"),
            ("a guarded loop", lambda: host(loop(after_model_callback=guard)), "draft two"),
            (
                "an agent of one's own",
                lambda: host(
                    Story(
                        name="desk",
                        sub_agents=[agent("draft", name="writer"), agent("final", name="critic")],
                    )
                ),
                "final",
            ),
            (
                "an agent with another one inside",
                lambda: host(Manager(name="desk", inner=agent("final", name="inner"))),
                "final",
            ),
            (
                "an agent with an output schema",
                lambda: host(agent(WEATHER, name="desk", output_schema=Weather)),
                Data(json.loads(WEATHER)),
            ),
            ("a sequence", lambda: host(sequence(agent("final"), name="desk")), "final"),
        )
    ],
    *[
        Program(name=name, target=target, bare=bare, blocked=DRAFT, is_kept=True)
        for name, target in (
            (
                "a function replaces a draft with thoughts and files",
                lambda: Workflow(name="flow", edges=[("START", drawing(), check_draft)]),
            ),
            (
                "thoughts and files of the first agent of a sequence",
                lambda: composed(SequentialAgent, drawing(name="writer"), agent("the end")),
            ),
            (
                "thoughts and files of an agent for a single turn",
                lambda: agent(
                    calling("desk", request="hello"),
                    "It rains.",
                    sub_agents=[drawing(name="desk", mode="single_turn")],
                    after_tool_callback=scrub,
                ),
            ),
        )
    ],
    Program(
        name="a loop beside another agent",
        target=lambda: composed(
            ParallelAgent,
            composed(LoopAgent, agent("a draft", name="writer"), name="desk", max_iterations=1),
            agent(calling("look"), "the end", name="editor", tools=[look]),
        ),
        bare=last_text,
        differs="the end\n\na draft",
        because="the answers of all members are the answer",
    ),
    Program(
        name="files of the last agent of a loop",
        target=lambda: composed(LoopAgent, agent(["Here.", IMAGE]), max_iterations=1),
        bare=bare,
    ),
    Program(name="the model is asked again", target=retrying, bare=bare),
    Program(
        name="a node is run again",
        target=lambda: Workflow(
            name="flow",
            edges=[
                (
                    "START",
                    agent(
                        ["half an ", RuntimeError()],
                        "an answer",
                        name="writer",
                        retry_config=RetryConfig(initial_delay=0),
                    ),
                )
            ],
        ),
        bare=bare,
    ),
    *[
        Program(
            name=name,
            target=target,
            bare=bare,
            differs="Let me look.\n\nIt rains.",
            because="what the agent says before it calls a tool is part of the answer",
        )
        for name, target in (
            ("a node is run again after a tool", failing),
            (
                "a node with a callback is run again after a tool",
                lambda: failing(after_model_callback=guard),
            ),
        )
    ],
    Program(
        name="a callback recovers a failure",
        target=lambda: agent(["half an ", RuntimeError()], on_model_error_callback=recover),
        bare=bare,
    ),
    Program(
        name="a callback adds a message",
        target=lambda: agent("It rains.", after_agent_callback=conclude),
        bare=bare,
        differs="It rains.\n\nThat is all.",
        because="after_agent_callback adds an event: the one before it is part of the run, too",
    ),
    *[
        Program(
            name=name,
            target=target,
            bare=bare,
            differs="the end\n\nThis was: the end",
            because="after_agent_callback adds an event: the one before it is part of the run, too",
        )
        for name, target in (
            (
                "a callback of an agent reads the session",
                lambda: sequence(agent("the end", after_agent_callback=repeat)),
            ),
            (
                "a callback of a sequence reads the session",
                lambda: sequence(agent("the end"), after_agent_callback=repeat),
            ),
        )
    ],
    Program(
        name="several messages",
        target=lambda: agent(["Let me see.", calling("look")], "It rains.", tools=[look]),
        bare=bare,
        differs="Let me see.\n\nIt rains.",
        because="what the agent says before it calls a tool is part of the answer",
    ),
    *[
        Program(name=f"{name} ask", target=target, bare=approved, messages=("hello", "yes", "yes"))
        for name, target in (
            (
                "members of a parallel agent",
                lambda: composed(ParallelAgent, desk("Rome"), desk("Oslo")),
            ),
            (
                "members of a parallel agent below another agent",
                lambda: agent(
                    calling("transfer_to_agent", agent_name="team"),
                    sub_agents=[composed(ParallelAgent, desk("Rome"), desk("Oslo"))],
                ),
            ),
        )
    ],
    Program(
        name="a sequence waits, and ends with an agent of one's own",
        target=lambda: composed(SequentialAgent, desk("Rome"), Ending(name="end")),
        bare=nothing,
        messages=("hello", "yes"),
        differs="The end.",
        because="the framework's own run does not wait",
    ),
    Program(
        name="an agent as a tool is the last step",
        target=adviser,
        bare=bare,
    ),
    Program(
        name="a sequence",
        target=lambda: sequence(agent("the end")),
        bare=bare,
    ),
    Program(
        name="a planner of one's own",
        target=lambda: agent(BOMB, planner=StrictPlanner(thinking_config=ThinkingConfig())),
        bare=bare,
        blocked=BOMB,
    ),
    Program(
        name="a workflow",
        target=lambda: Workflow(
            name="flow", edges=[("START", agent("hello", name="greeter"), flow)]
        ),
        bare=bare,
    ),
    Program(
        name="structured output",
        target=lambda: agent(WEATHER, output_schema=Weather),
        bare=data,
    ),
    Program(
        name="files",
        target=lambda: agent(["Here.", PIXELS]),
        bare=bare,
    ),
    Program(
        name="a file between texts",
        target=lambda: agent(["Here.", PIXELS, "There."]),
        bare=bare,
    ),
    Program(
        name="a file between texts of a callback",
        target=lambda: agent(["Here.", PIXELS, "There."], after_model_callback=lambda **_: None),
        bare=bare,
    ),
    Program(
        name="a file before the text of a callback",
        target=lambda: agent([PIXELS, "There."], after_model_callback=lambda **_: None),
        bare=bare,
    ),
    Program(
        name="reasoning",
        target=lambda: agent([Part(text="pondering", thought=True), "It rains."]),
        bare=bare,
        blocked="pondering",
        is_kept=True,
        is_reported=True,
    ),
    Program(name="nothing", target=lambda: agent(" "), bare=bare),
]


# The framework's own tool and its copies of agents still use these.
@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.* is deprecated in favor of Workflow:DeprecationWarning")
@in_each_way
@pytest.mark.parametrize("program", PROGRAMS, ids=str)
async def test_answers_are_those_of_the_run(program, ways, tmp_path, caplog):
    await check(program, ways, tmp_path, caplog)


def test_text_is_held_where_it_may_change():
    held = [agent("x", after_model_callback=guard), app(agent("x"), Guard("guard"))]
    free = [agent("x", after_agent_callback=conclude), app(agent("x"), LoggingPlugin())]
    free.append(writer(before_tool_callback=change))
    found = [adapt(target).holds_text for target in (*held, *free)]
    assert found == [True, True, False, False, False]


def test_a_runner_of_a_class_that_checks_runs_is_refused():
    with pytest.raises(TargetError, match="in a plugin"):
        adapt(StrictRunner(agent("x")))
