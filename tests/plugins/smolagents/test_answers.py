"""Agents answer as their own call does."""

from __future__ import annotations

import asyncio

import pytest
import smolagents
from openai import OpenAIError
from smolagents import (
    ActionStep,
    CodeAgent,
    FinalAnswerStep,
    FinalAnswerTool,
    PlanningStep,
    ToolCallingAgent,
)
from smolagents.agents import ActionOutput
from smolagents.local_python_executor import LocalPythonExecutor
from smolagents.models import ChatMessageStreamDelta
from smolagents.monitoring import AgentLogger, LogLevel, Monitor

from a2a_adapters import BlockedError
from a2a_adapters.testing import AnswerContract
from tests.plugins.smolagents.support import Fake, agent, calling, coding, made, script, team, tool
from tests.support.answers import Program, check, in_each_way

BOMB = AnswerContract.blocked
REFUSAL = "I cannot help."


def allowed(answer, memory, agent):
    """Refuse what is forbidden; the agent tries again."""
    return "bomb" not in str(answer)


def block(step):
    """End the run."""
    if "bomb" in str(step.model_output_message):
        raise BlockedError("This is not allowed.")


def block_final(step):
    """End the run because of its answer."""
    if "bomb" in str(step.output):
        raise BlockedError("This is not allowed.")


def replace_final(step, **_):
    """Replace the answer."""
    step.output = REFUSAL


def block_calls(step):
    """End the run because of a tool call."""
    if "bomb" in str(step.tool_calls):
        raise BlockedError("This is not allowed.")


class Total:
    """Is a number as numpy has them."""

    def tolist(self):
        return 42


def total():
    """Sum up."""
    return Total()


def desk(*answers, **options):
    """Return an agent that another one can manage."""
    return agent(*answers, name="desk", description="Knows the weather.", **options)


def search(query: str) -> str:
    """Search."""
    return "a book"


def look() -> str:
    """Look."""
    return "rain"


async def bare(target):
    """Return the result of the framework's own call."""
    return await asyncio.to_thread(target.run, "hello")


async def summed(target):
    """Return a number as what it is in JSON."""
    return (await bare(target)).tolist()


async def nothing(_):
    """Return nothing: the run ends with an exception."""


class TestAnswers(AnswerContract):
    def guarded(self):
        return agent(self.blocked, REFUSAL, final_answer_checks=[allowed])

    def blocking(self):
        return agent(self.blocked, step_callbacks=[block])


def rewrite(step, **_):
    """Replace what is forbidden in what the agent sees."""
    if getattr(step, "observations", None):
        step.observations = REFUSAL


def rewrite_plan(step, **_):
    """Replace a plan."""
    step.plan = REFUSAL


def look_up() -> str:
    """Look something up."""
    return BOMB


class SafeAnswer(FinalAnswerTool):
    """Replaces what is forbidden."""

    def forward(self, answer):
        return REFUSAL if "bomb" in str(answer) else answer


def final_answer(answer: str) -> str:
    """Answer.

    Args:
        answer: The answer.
    """
    return "I cannot help." if "bomb" in answer else answer


def answering():
    """Return the tool that smolagents makes from a function."""
    return smolagents.tool(final_answer)


class SafeCode(CodeAgent):
    """Replaces a forbidden answer."""

    def _step_stream(self, memory_step):
        for item in super()._step_stream(memory_step):
            if isinstance(item, ActionOutput) and item.is_final_answer:
                item.output = REFUSAL
            yield item


class SafeCalls(ToolCallingAgent):
    """Replaces arguments."""

    def execute_tool_call(self, tool_name, arguments):
        checked = {"query": "cats"} if tool_name == "search" else arguments
        return super().execute_tool_call(tool_name, checked)


class BlockingModel(Fake):
    """Blocks what is forbidden."""

    def generate(self, messages, **options):
        said = super().generate(messages, **options)
        if "bomb" in str(said):
            raise BlockedError
        return said


class BlockingStream(Fake):
    """Blocks at the end of its stream."""

    def generate_stream(self, messages, **_):
        for word in super().generate(messages).content.split(" "):
            yield ChatMessageStreamDelta(content=f"{word} ")
        raise BlockedError


def refused():
    """Return a model whose provider refuses what is forbidden."""

    class Refused(Fake):
        def generate(self, messages, **options):
            raise BlockedError from OpenAIError(BOMB)

    return Refused(None)


class StreamingModel(Fake):
    """Replaces what is forbidden, only in a stream."""

    def generate_stream(self, messages, **_):
        for word in super().generate(messages).content.replace("bomb", "cake").split(" "):
            yield ChatMessageStreamDelta(content=f"{word} ")


class BlockingMonitor(Monitor):
    """Ends the run because of what its model has said."""

    def update_metrics(self, step_log):
        super().update_metrics(step_log)
        if "bomb" in str(getattr(step_log, "model_output_message", "")):
            raise BlockedError("This is not allowed.")


class BlockingLogger(AgentLogger):
    """Ends the run because of what is logged."""

    def log(self, *args, **options):
        super().log(*args, **options)
        if "bomb" in "".join(str(getattr(each, "renderable", each)) for each in args):
            raise BlockedError("This is not allowed.")


def encoding(code, **options):
    """Return an agent that may import a module by the options of its executor."""
    return coding(code, executor=LocalPythonExecutor(["base64"], **options))


def knowing(code, *lines):
    """Return an agent whose executor has variables, and has run some code."""
    made = coding(code)
    made.python_executor.send_variables({"rates": {"EUR": 7}})
    for line in lines:
        made.python_executor(line)
    return made


def repeat(text):
    return f"{text} {text}"


def monitored(*answers):
    """Return an agent with a monitor of one's own."""
    made = agent(*answers)
    made.monitor = BlockingMonitor(made.model, made.logger)
    made.step_callbacks.register(ActionStep, made.monitor.update_metrics)
    return made


class Rewriting(ToolCallingAgent):
    """Replaces what the agent sees."""

    def _step_stream(self, memory_step):
        yield from super()._step_stream(memory_step)
        memory_step.observations = REFUSAL


PROGRAMS = [
    Program(
        name="a monitor blocks",
        target=lambda: monitored(BOMB),
        bare=nothing,
        state="rejected",
        blocked=BOMB,
    ),
    *(
        Program(name=name, target=target, bare=bare, blocked=BOMB, is_kept=is_kept)
        for name, target, is_kept in (
            (
                "a check refuses what a tool has found",
                lambda: agent(
                    calling("look_up"),
                    BOMB,
                    REFUSAL,
                    tools=[tool(look_up)],
                    final_answer_checks=[allowed],
                ),
                True,
            ),
            (
                "a check refuses what a managed agent says",
                lambda: made(
                    script(calling("desk", task="x"), BOMB, REFUSAL),
                    managed_agents=[desk(BOMB)],
                    name="boss",
                    final_answer_checks=[allowed],
                ),
                True,
            ),
            (
                "a plan names a refused answer",
                lambda: agent(
                    "Look.", BOMB, BOMB, REFUSAL, planning_interval=1, final_answer_checks=[allowed]
                ),
                True,
            ),
            (
                "a class replaces what its agent sees",
                lambda: made(
                    script(calling("look_up"), "Done."), kind=Rewriting, tools=[tool(look_up)]
                ),
                False,
            ),
        )
    ),
    Program(
        name="a tool for answers replaces one in code",
        target=lambda: coding(f"final_answer({BOMB!r})", tools=[SafeAnswer()]),
        bare=bare,
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="a class replaces an answer in code",
        target=lambda: coding(f"final_answer({BOMB!r})", kind=SafeCode),
        bare=bare,
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="a class replaces arguments",
        target=lambda: made(
            script(calling("search", query=BOMB), "Done."), kind=SafeCalls, tools=[tool(search)]
        ),
        bare=bare,
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="a model blocks",
        target=lambda: made(BlockingModel(lambda _: BOMB)),
        bare=nothing,
        state="rejected",
        blocked=BOMB,
    ),
    Program(
        name="a model replaces its stream",
        target=lambda: CodeAgent(
            tools=[],
            model=StreamingModel(lambda _: f"<code>\nfinal_answer({BOMB!r})\n</code>"),
            stream_outputs=True,
            verbosity_level=LogLevel.OFF,
        ),
        bare=bare,
        blocked="bomb",
    ),
    Program(
        name="a callback replaces the result of a tool",
        target=lambda: agent(
            calling("look_up"), "Done.", tools=[tool(look_up)], step_callbacks=[rewrite]
        ),
        bare=bare,
        blocked=BOMB,
    ),
    Program(
        name="a callback replaces a plan",
        target=lambda: agent(
            BOMB, "Done.", planning_interval=5, step_callbacks={PlanningStep: rewrite_plan}
        ),
        bare=bare,
        blocked=BOMB,
    ),
    Program(
        name="a check refuses an answer",
        target=lambda: agent(BOMB, REFUSAL, final_answer_checks=[allowed]),
        bare=bare,
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="a check refuses an answer in code",
        target=lambda: coding(
            f"final_answer({BOMB!r})", f"final_answer({REFUSAL!r})", final_answer_checks=[allowed]
        ),
        bare=bare,
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="a callback blocks",
        target=lambda: agent(BOMB, step_callbacks={ActionStep: block}),
        bare=nothing,
        state="rejected",
        blocked=BOMB,
    ),
    *(
        Program(
            name=f"a callback blocks {name}",
            target=target,
            bare=nothing,
            state="rejected",
            blocked=BOMB,
        )
        for name, target in (
            ("code", lambda: coding(f"final_answer({BOMB!r})", step_callbacks=[block])),
            (
                "the answer of code",
                lambda: coding(
                    f"final_answer({BOMB!r})", step_callbacks={FinalAnswerStep: block_final}
                ),
            ),
            (
                "arguments",
                lambda: agent(
                    calling("search", query=BOMB),
                    "Done.",
                    tools=[tool(search)],
                    step_callbacks=[block_calls],
                ),
            ),
        )
    ),
    *(
        Program(
            name=f"a model blocks {name}",
            target=target,
            bare=nothing,
            state="rejected",
            blocked=BOMB,
        )
        for name, target in (
            ("a plan", lambda: made(BlockingModel(lambda _: BOMB), planning_interval=1)),
            (
                "a later plan",
                lambda: made(
                    BlockingModel(script("Look.", calling("look"), BOMB)._answer),
                    planning_interval=1,
                    tools=[tool(look)],
                ),
            ),
            ("a plan for its provider", lambda: made(refused(), planning_interval=1)),
            (
                "a plan in a stream",
                lambda: made(
                    BlockingStream(lambda _: BOMB), planning_interval=1, stream_outputs=True
                ),
            ),
        )
    ),
    *(
        Program(
            name=f"a logger blocks {name}",
            target=target,
            bare=nothing,
            state="rejected",
            blocked=BOMB,
        )
        for name, target in (
            ("an answer", lambda: agent(BOMB, logger=BlockingLogger())),
            (
                "arguments",
                lambda: agent(
                    calling("search", query=BOMB),
                    "Done.",
                    tools=[tool(search)],
                    logger=BlockingLogger(),
                ),
            ),
        )
    ),
    *(
        Program(name=f"an executor with {name}", target=target, bare=bare)
        for name, target in (
            (
                "imports",
                lambda: encoding("import base64\nfinal_answer(base64.b64encode(b'x').decode())"),
            ),
            ("variables", lambda: knowing("rates['EUR'] += 1\nfinal_answer(rates['EUR'])")),
            (
                "code",
                lambda: knowing("final_answer(double(2))", "def double(x):\n    return 2 * x"),
            ),
            (
                "functions",
                lambda: encoding(
                    "final_answer(repeat('hi'))", additional_functions={"repeat": repeat}
                ),
            ),
        )
    ),
    Program(
        name="a callback replaces the answer of code",
        target=lambda: coding(
            f"final_answer({BOMB!r})", step_callbacks={FinalAnswerStep: replace_final}
        ),
        bare=bare,
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="a tool",
        target=lambda: agent(calling("look"), "It rains.", tools=[tool(look)]),
        bare=bare,
    ),
    Program(name="code", target=lambda: coding("x = 42", "final_answer(x)"), bare=bare),
    Program(name="data", target=lambda: coding('final_answer({"x": [1]})'), bare=bare),
    Program(
        name="a number of a library",
        target=lambda: coding("final_answer(total())", tools=[tool(total)]),
        bare=summed,
    ),
    Program(
        name="a managed agent",
        target=lambda: team(desk("It rains."), calling("desk", task="weather?"), "Rain."),
        bare=bare,
    ),
    Program(
        name="a managed agent summarizes what a check has refused",
        target=lambda: team(
            desk(BOMB, "It rains.", final_answer_checks=[allowed], provide_run_summary=True),
            calling("desk", task="weather?"),
            "Rain.",
        ),
        bare=bare,
        blocked=BOMB,
        is_kept=True,
    ),
    *(
        Program(
            name=f"{name} is a function",
            target=target,
            bare=bare,
            blocked=BOMB,
            is_kept=True,
        )
        for name, target in (
            (
                "a tool for the answer",
                lambda: coding(f"final_answer({BOMB!r})", tools=[answering()]),
            ),
            (
                "a tool for the answer of a summarized agent",
                lambda: team(
                    desk(BOMB, tools=[answering()], provide_run_summary=True),
                    calling("desk", task="weather?"),
                    "Rain.",
                ),
            ),
        )
    ),
    Program(
        name="the limit of steps",
        target=lambda: agent(calling("look"), "It may rain.", tools=[tool(look)], max_steps=1),
        bare=bare,
    ),
    Program(
        name="a failure after the limit of steps",
        target=lambda: agent(calling("look"), RuntimeError(BOMB), tools=[tool(look)], max_steps=1),
        bare=nothing,
        state="failed",
        blocked=BOMB,
    ),
]


@in_each_way
@pytest.mark.parametrize("program", PROGRAMS, ids=str)
async def test_answers_are_those_of_the_call(program, ways, tmp_path, caplog):
    await check(program, ways, tmp_path, caplog)
