"""Classes of `@CrewBase`: each run has its own object, with its own hooks, tasks and agents."""

from __future__ import annotations

import asyncio
import functools
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from a2a_adapters_crewai import adapt
from crewai import Crew, Flow
from crewai.flow import start
from crewai.hooks import InterceptionPoint, after_llm_call, before_llm_call, on
from crewai.project import CrewBase, after_kickoff, agent, before_kickoff, crew, task
from crewai.project.utils import cache

from a2a_adapters import BlockedError, TargetError
from a2a_adapters.plugin import Factory
from tests.plugins.crewai import support
from tests.plugins.crewai.support import Scripted, answer, ask, value_of

CALLERS = [f"caller {n}, whose name is long" for n in range(8)]


class Together:
    """Has calls of a model wait until each caller's run has come to them."""

    barrier: threading.Barrier


@pytest.fixture(autouse=True)
def _together():
    Together.barrier = threading.Barrier(len(CALLERS), timeout=60)


def say_topic(prompt):
    Together.barrier.wait()
    return value_of("topic")(prompt)


class Parts:
    """What the methods of all classes here make."""

    agents_config: dict = {}  # noqa: RUF012
    tasks_config: dict = {}  # noqa: RUF012

    def __init__(self, script=say_topic):
        self.script = script

    def make_agent(self):
        return support.agent(Scripted(self.script, stream=True))

    def make_crew(self):
        return Crew(agents=self.agents, tasks=self.tasks)


@CrewBase
class Remembering(Parts):
    """Keeps its caller, as many a `before_kickoff` does."""

    @before_kickoff
    def remember(self, inputs):
        self.caller = inputs["topic"]
        return inputs

    @agent
    def writer(self):
        return self.make_agent()

    @task
    def write(self):
        return support.task(self.writer(), guardrail=self.check)

    @crew
    def crew(self):
        return self.make_crew()

    def check(self, output):
        return output.raw == self.caller, output.raw

    @after_kickoff
    def sign(self, result):
        result.raw = f"{result.raw}, for {self.caller}"
        return result


@CrewBase
class Hooked(Parts):
    """Adds to each answer, in a hook."""

    @before_kickoff
    def remember(self, inputs):
        self.caller = inputs["topic"]
        return inputs

    @agent
    def writer(self):
        return self.make_agent()

    @task
    def write(self):
        return support.task(self.writer())

    @crew
    def crew(self):
        return self.make_crew()

    @after_llm_call
    def sign(self, context):
        return f"{context.response} signed by {self.caller}"

    @before_llm_call(agents=["Writer"])
    def allow(self, context):
        return None

    @on(InterceptionPoint.OUTPUT)
    def number(self, context):
        context.payload.raw += "."


@CrewBase
class CheckedLate(Parts):
    """Adds a check to its own task before each kickoff."""

    @before_kickoff
    def watch(self, inputs):
        self.write().callback = self.refuse
        self.tasks[0].expected_output = f"a line for {inputs['topic']}"
        return inputs

    @agent
    def writer(self):
        return self.make_agent()

    @task
    def write(self):
        return support.task(self.writer())

    @crew
    def crew(self):
        return self.make_crew()

    def refuse(self, output):
        raise BlockedError(f"refused {len(output.raw)}")


class ByHooked(Flow):
    topic: str = ""

    @start()
    def write(self):
        return Hooked().crew().kickoff(inputs={"topic": self.state["topic"]}).raw


def streaming(flow):
    return adapt(flow, text_key="topic", stream_methods=["write"])


def remembering():
    return Remembering()


async def make_later():
    return Remembering().crew()


@pytest.mark.parametrize(
    "target",
    [
        Remembering,
        remembering,
        lambda: Remembering().crew(),
        None,
    ],
    ids=["class", "function", "function of crews", "async function"],
)
async def test_each_run_has_its_own_object(target):
    adapter = adapt(target or Factory(make_later, Remembering().crew()))
    answers = await asyncio.gather(*(ask(adapter, caller) for caller in CALLERS))
    assert [answer(events) for events in answers] == [f"{each}, for {each}" for each in CALLERS]


@pytest.mark.parametrize("target", [Hooked, lambda: streaming(ByHooked)])
async def test_hooks_of_an_object_are_for_its_run(target):
    adapter = adapt(Hooked) if target is Hooked else target()
    answers = await asyncio.gather(*(ask(adapter, caller) for caller in CALLERS))
    assert [answer(each) for each in answers] == [f"{c} signed by {c}." for c in CALLERS]
    assert adapter.holds_text or "TextDelta" not in str(answers)
    Together.barrier = threading.Barrier(1)
    assert answer(await ask(adapt(CheckedBy), "cats")) == "cats"


@CrewBase
class CheckedBy(Parts):
    """Relies on the hooks of other objects."""

    @agent
    def writer(self):
        return self.make_agent()

    @task
    def write(self):
        return support.task(self.writer())

    @crew
    def crew(self):
        return self.make_crew()


def in_pool(call, **given):
    """Call a function in a thread that has none of the context of this one."""
    with ThreadPoolExecutor() as pool:
        return pool.submit(call, **given).result()


class ByHookedInThread(ByHooked):
    @start()
    def write(self):
        inputs = {"topic": self.state["topic"]}
        return in_pool(Hooked().crew().kickoff, inputs=inputs).raw


class ByAnotherCrewInThread(ByHooked):
    """Kicks off crews of the agents of one object, and of an object without hooks."""

    @start()
    def write(self):
        inputs = {"topic": self.state["topic"]}
        own = Hooked().crew()
        same = Crew(agents=own.agents, tasks=own.tasks)
        texts = [in_pool(each.kickoff, inputs=inputs).raw for each in (same, CheckedBy().crew())]
        return " and ".join(texts)


class ByWriterInThread(ByHooked):
    @start()
    def write(self):
        hooked = Hooked()
        hooked.caller = self.state["topic"]
        return in_pool(hooked.writer().kickoff, messages=f"topic=<{hooked.caller}>").raw


@functools.cache
def shared_press():
    return Hooked()


class BySharedPress(ByHooked):
    @start()
    def write(self):
        return shared_press().crew().kickoff(inputs={"topic": self.state["topic"]}).raw


@functools.cache
def other_press():
    return Hooked()


class BySharedWriter(ByHooked):
    """Uses an agent of the press only."""

    @start()
    def write(self):
        press, topic = other_press(), self.state["topic"]
        press.caller = topic
        return press.writer().kickoff(f"topic=<{topic}>").raw


class PressOfItsOwn(ByHooked):
    """Makes its press in its constructor."""

    def model_post_init(self, context, /):
        super().model_post_init(context)
        object.__setattr__(self, "press", Hooked())

    @start()
    def write(self):
        return self.press.crew().kickoff(inputs={"topic": self.state["topic"]}).raw


def write_about(topic):
    """Make a press and let it write, when all callers have theirs."""
    press = Hooked()
    Together.barrier.wait()
    return press.crew().kickoff(inputs={"topic": topic}).raw


class ByPressOfThread(ByHooked):
    @start()
    def write(self):
        return in_pool(write_about, topic=self.state["topic"])


class ByPressOfExecutor(ByHooked):
    @start()
    async def write(self):
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, write_about, self.state["topic"])


@pytest.mark.parametrize(
    "flow", [ByHookedInThread, ByPressOfThread, ByPressOfExecutor, PressOfItsOwn]
)
async def test_hooks_are_called_once_in_each_thread(flow):
    adapter = streaming(flow)
    answers = await asyncio.gather(*(ask(adapter, caller) for caller in CALLERS))
    assert [answer(each) for each in answers] == [f"{c} signed by {c}." for c in CALLERS]


async def test_hooks_of_an_agent_in_a_thread_of_ones_own():
    Together.barrier = threading.Barrier(1)
    adapter = streaming(ByWriterInThread)
    assert answer(await ask(adapter, "cats")) == "cats signed by cats"


async def test_hooks_of_other_crews_in_a_thread_of_ones_own():
    Together.barrier = threading.Barrier(1)
    adapter = streaming(ByAnotherCrewInThread)
    assert answer(await ask(adapter, "cats")) == "cats. and cats."


@pytest.mark.parametrize(("flow", "end"), [(BySharedPress, "."), (BySharedWriter, "")])
async def test_hooks_of_an_object_that_outlives_its_run(flow, end):
    Together.barrier = threading.Barrier(1)
    adapter = streaming(flow)
    for caller in CALLERS[:3]:
        events = await ask(adapter, caller)
        assert answer(events) == f"{caller} signed by {caller}{end}"
        assert "TextDelta" not in str(events)


async def test_objects_of_runs_are_forgotten():
    adapter = adapt(Remembering)
    Together.barrier = threading.Barrier(1)
    kept = len(cache._cache)
    for caller in CALLERS:
        await ask(adapter, caller)
    assert len(cache._cache) == kept


async def test_a_check_that_is_added_before_the_kickoff_runs():
    adapter = adapt(CheckedLate)
    runs = (ask(adapter, caller) for caller in CALLERS)
    errors = await asyncio.gather(*runs, return_exceptions=True)
    assert [str(error) for error in errors] == [f"refused {len(each)}" for each in CALLERS]


@pytest.mark.parametrize("make", [Remembering, lambda: Remembering().crew()])
def test_one_object_for_all_runs_is_refused(make):
    made = make()
    for target in (made, lambda: made):
        with pytest.raises(TargetError, match="serve the class Remembering, or a function"):
            adapt(target)


def naming_its_task():
    """Return a crew whose guardrail looks at an earlier task of it."""
    writer = support.agent(Scripted(value_of("topic")))
    first = support.task(writer)
    last = support.task(
        writer, guardrail=lambda output: (first.output.raw == output.raw, output.raw)
    )
    return Crew(agents=[writer], tasks=[first, last])


async def test_code_that_refers_to_parts_of_its_own_crew():
    with pytest.raises(TargetError, match="guardrail of this Task refers to a part"):
        adapt(naming_its_task())
    assert answer(await ask(adapt(naming_its_task), "cats")) == "cats"


def with_a_method_of_its_own():
    """Return an agent whose `kickoff` is set on the agent, not in its class."""
    made = support.agent(Scripted("Final Answer: cats"))
    own = made.kickoff

    def kickoff(*args, **given):
        result = own(*args, **given)
        result.raw = result.raw.upper()
        return result

    object.__setattr__(made, "kickoff", kickoff)
    return made


async def test_a_method_of_one_agent_alone():
    with pytest.raises(TargetError, match="kickoff is set on this Agent instead"):
        adapt(with_a_method_of_its_own())
    assert answer(await ask(adapt(with_a_method_of_its_own), "cats")) == "CATS"


def guarded_late():
    """Return a crew whose guardrail was set when its task existed already."""
    made = support.crew("Final Answer: cats")
    made.tasks[0]._guardrail = lambda output: (True, output.raw.upper())
    return made


async def test_a_guardrail_that_was_set_later():
    with pytest.raises(TargetError, match="_guardrail of this Task was set when it existed"):
        adapt(guarded_late())
    assert answer(await ask(adapt(guarded_late), "cats")) == "CATS"
