"""Served crews, flows and agents answer as their own kickoff does; blocked text stays inside."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from a2a_adapters_crewai import adapt
from a2a_adapters_crewai.serving.output import plain
from crewai import Agent, BaseLLM, Crew, CrewOutput, Process, Task, TaskOutput
from crewai.flow import Flow, listen, start
from crewai.hooks import HookAborted, InterceptionPoint, get_hooks, register_hook, unregister_hook
from crewai.project import CrewBase, after_kickoff
from crewai.project import agent as of_agents
from crewai.project import crew as of_crews
from crewai.project import task as of_tasks
from crewai.tasks.conditional_task import ConditionalTask
from crewai.tools import BaseTool
from pydantic import BaseModel

from a2a_adapters import File, TargetError, Text
from tests.plugins.crewai.support import (
    Call,
    Scripted,
    agent,
    openai_model,
    task,
    tool_call,
    value_of,
)
from tests.support.answers import ALL, Program, check, in_each_way

BLOCKED = "how to build a bomb, step by step"
LONG = "Cats purr when they are fed, and when they are not, they tell you of it at once."
REFUSAL = "I cannot help with that."


@pytest.fixture(autouse=True)
def _unregister():
    """Unregister the hooks of a test."""
    yield
    for point in InterceptionPoint:
        for hook in get_hooks(point):
            if hook.__module__ == __name__:
                unregister_hook(point, hook)


def hooked(point, hook, make):
    """Return a function that registers a hook and makes a target."""

    def target():
        if hook not in get_hooks(point):
            register_hook(point, hook)
        return make()

    return target


def replace(context):
    """Replace a blocked response of a model."""
    return REFUSAL if BLOCKED in context.response else None


def replace_output(context):
    """Replace a blocked result of a step or run."""
    result = context.payload
    if isinstance(result, str):
        return REFUSAL if BLOCKED in result else None
    if BLOCKED in result.raw:
        result.raw = REFUSAL
    return None


def abort(_):
    raise HookAborted("blocked by a hook")


def refuse(_):
    return False


def guard(output):
    """Refuse a blocked answer."""
    return (False, f"not {BLOCKED}") if BLOCKED in output.raw else (True, output.raw)


def ask_judge(text):
    """Have an agent judge a text."""
    return (
        agent(Scripted("BAD" if BLOCKED in text else "GOOD")).kickoff(f"Is this fine? {text}").raw
    )


def judge(output):
    return (False, "no") if ask_judge(output.raw) == "BAD" else (True, output.raw)


def judge_by_crew(output):
    verdict = Scripted("BAD" if BLOCKED in output.raw else "GOOD")
    judging = of_one(agent(verdict)).kickoff(inputs={"topic": output.raw})
    return (False, "no") if judging.raw == "BAD" else (True, output.raw)


def judge_callback(output):
    if ask_judge(output.raw) == "BAD":
        output.raw = REFUSAL
    return output


def judge_result(context):
    """Have an agent judge the result of a run, except that of the judge itself."""
    result = context.payload
    if result.raw not in ("BAD", "GOOD"):
        judge_callback(result)


def judge_topic(inputs):
    return {"topic": ask_judge(inputs["topic"])}


def judge_condition(output):
    return ask_judge(output.raw) == "BAD"


def conditional():
    """Return a crew that corrects a text in a second task, if a judge wants it."""
    writer = speaker(BLOCKED, REFUSAL)
    first = task(writer)
    second = ConditionalTask(
        description="Correct it", expected_output="text", agent=writer, condition=judge_condition
    )
    return Crew(agents=[writer], tasks=[first, second])


def asked_before():
    target = of_one(agent(Scripted(value_of("topic"))))
    target.tasks[0].description = "topic=<{topic}>"
    target.before_kickoff_callbacks = [judge_topic]
    return target


def rewrite(output):
    return True, REFUSAL if BLOCKED in output.raw else output.raw


def redact(result):
    result.raw = REFUSAL
    return result


def forget(result):
    result.raw = ""
    return result


class Line(BaseModel):
    line: str


class Look(BaseTool):
    name: str = "look"
    description: str = "Look."

    def _run(self) -> str:
        return "seen"


class Leak(BaseTool):
    name: str = "leak"
    description: str = "Leak."

    def _run(self) -> str:
        return BLOCKED


class Save(BaseTool):
    name: str = "save"
    description: str = "Save a text."

    def _run(self, text: str) -> str:
        return "saved"


class Fading(Scripted):
    """Fails at the end of its first call."""

    def _emit_call_completed_event(self, *args, **kwargs):
        if len(self.seen) == 1:
            raise ConnectionError("lost")
        super()._emit_call_completed_event(*args, **kwargs)


class CheckedModel(Scripted):
    """Replaces a blocked text that its base class returns."""

    def call(self, *args, **kwargs):
        text = super().call(*args, **kwargs)
        return REFUSAL if BLOCKED in text else text


class ModelAround(BaseLLM):
    """Replaces a blocked text of another model, as custom models of CrewAI's documentation do."""

    inner: Any = None

    def call(self, *args, **kwargs):
        return self._checked(self._model().call(*args, **kwargs))

    async def acall(self, *args, **kwargs):
        return self._checked(await self._model().acall(*args, **kwargs))

    def supports_function_calling(self):
        return False

    def _model(self):
        return self.inner

    def _checked(self, text):
        return text.replace(BLOCKED, REFUSAL)


class ModelAroundSeveral(ModelAround):
    """Replaces what the first of several models says."""

    def _model(self):
        return self.inner["models"]


class ModelFarAround(ModelAround):
    """Replaces what a model of another object says."""

    def _model(self):
        return self.inner.model


def around(text=BLOCKED):
    return ModelAround(model="around", inner=Scripted(text, stream=True))


def around_mapping():
    models = {"models": Scripted(BLOCKED, stream=True)}
    return ModelAroundSeveral(model="around", inner=models)


def far_around():
    deps = SimpleNamespace(model=Scripted(BLOCKED, stream=True))
    return ModelFarAround(model="around", inner=deps)


def managed(model, answer="x", **fields):
    """Return a crew with a manager."""
    worker = agent(Scripted(answer))
    only = Task(description="{topic}", expected_output="text", agent=worker, **fields)
    return Crew(agents=[worker], tasks=[only], process=Process.hierarchical, manager_llm=model)


class CheckedAgent(Agent):
    """Replaces blocked texts of tasks, and of runs outside of crews."""

    async def aexecute_task(self, *args, **kwargs):
        text = await super().aexecute_task(*args, **kwargs)
        return REFUSAL if BLOCKED in text else text

    def kickoff(self, *args, **kwargs):
        return redact(super().kickoff(*args, **kwargs))


class CheckedTask(Task):
    """Replaces the output of a task."""

    async def aexecute_sync(self, *args, **kwargs):
        return redact(await super().aexecute_sync(*args, **kwargs))


class CheckedSync(Agent):
    """Replaces blocked texts of tasks, and of runs outside of crews, by methods that block."""

    def execute_task(self, *args, **kwargs):
        text = super().execute_task(*args, **kwargs)
        return REFUSAL if BLOCKED in text else text

    def kickoff(self, *args, **kwargs):
        return redact(super().kickoff(*args, **kwargs))


class CheckedThread(Task):
    """Replaces the output of a task that runs in a thread beside others."""

    def execute_async(self, *args, **kwargs):
        future = super().execute_async(*args, **kwargs)
        redact(future.result())
        return future


class CheckedAsync(Agent):
    """Replaces what runs outside of crews say, if they do not block."""

    async def kickoff_async(self, *args, **kwargs):
        return redact(await super().kickoff_async(*args, **kwargs))


class CheckedStep(Agent):
    """Replaces what a step of a task or run returns."""

    def _finalize_task_execution(self, task, result):
        return super()._finalize_task_execution(task, REFUSAL if BLOCKED in result else result)

    def _finalize_kickoff(self, output, *args, **kwargs):
        return redact(super()._finalize_kickoff(output, *args, **kwargs))


class CheckedExecutor(Agent):
    """Replaces what the executor of its tasks returns, by a method that blocks."""

    def create_agent_executor(self, *args, **kwargs):
        super().create_agent_executor(*args, **kwargs)
        invoke = self.agent_executor.invoke

        def checked(inputs):
            return {**invoke(inputs), "output": REFUSAL}

        object.__setattr__(self.agent_executor, "invoke", checked)


class CheckedSyncTask(Task):
    """Replaces the output of a task, by a method that blocks."""

    def execute_sync(self, *args, **kwargs):
        return redact(super().execute_sync(*args, **kwargs))


def crew(*script, model=Scripted, tools=(), callbacks=(), **fields):
    """Return a crew whose last agent streams the script."""
    last = agent(model(*script, stream=True), tools=list(tools))
    first = agent(Scripted("Final Answer: facts"), role="Researcher")
    return Crew(
        agents=[first, last],
        tasks=[task(first), task(last, **fields)],
        after_kickoff_callbacks=list(callbacks),
    )


def speaker(*script, **fields):
    """Return an agent whose model streams the script."""
    return agent(Scripted(*script, stream=True), **fields)


@CrewBase
class Press:
    """A crew as CrewAI's template has it, with a callback."""

    agents_config: dict = {}  # noqa: RUF012
    tasks_config: dict = {}  # noqa: RUF012

    @of_agents
    def writer(self):
        return speaker(BLOCKED)

    @of_tasks
    def write(self):
        return task(self.writer())

    @of_crews
    def crew(self):
        return Crew(agents=self.agents, tasks=self.tasks)

    @after_kickoff
    def check(self, result):
        return redact(result)


class ByCrew(Flow):
    @start()
    def write(self):
        return crew(BLOCKED).kickoff(inputs={"topic": "x"}).raw


class Spoken(Flow):
    @start()
    def write(self):
        return crew(LONG).kickoff(inputs={"topic": "x"}).raw


class ByCheckedModel(Flow):
    @start()
    def write(self):
        return CheckedModel(BLOCKED, stream=True).call("x")


class ByCheckedAgent(Flow):
    @start()
    def write(self):
        return checked_agent().kickoff("x").raw


class ByModelAround(Flow):
    @start()
    def write(self):
        return agent(around()).kickoff("x").raw


class ByModelFarAround(Flow):
    @start()
    def write(self):
        return of_one(agent(far_around())).kickoff(inputs={"topic": "x"}).raw


class ByModelAlone(Flow):
    @start()
    def write(self):
        return far_around().call("x")


def leaking(callbacks=(), **fields):
    """Return a crew whose answer is the blocked result of a tool."""
    tools = [Leak(result_as_answer=True)]
    return crew(tool_call("leak", "{}"), LONG, tools=tools, callbacks=callbacks, **fields)


def looked_up(**fields):
    """Return a crew whose second task repeats the result of a tool of its first one."""
    first = speaker(tool_call("leak", "{}"), f"Final Answer: {BLOCKED}", tools=[Leak()])
    return Crew(
        agents=[first], tasks=[task(first), task(speaker(BLOCKED), description="x", **fields)]
    )


def delegated(**fields):
    """Return a crew whose manager passes on what a coworker says."""
    work = '{"task": "x", "context": "x", "coworker": "Writer"}'
    delegating = tool_call("delegate_work_to_coworker", work)
    manager = Scripted(delegating, f"Thought: x\nFinal Answer: {BLOCKED}", stream=True)
    return managed(manager, BLOCKED, **fields)


def saved(**fields):
    """Return a crew whose agent gives its text to a tool first."""
    saving = tool_call("save", f'{{"text": "{BLOCKED}"}}')
    return crew(saving, f"Final Answer: {BLOCKED}", tools=[Save()], **fields)


def checked_agent(kind=CheckedAgent):
    model = Scripted(BLOCKED, stream=True)
    return kind(role="Writer", goal="Write", backstory="None", llm=model)


def of_one(writer, kind=Task):
    """Return a crew of one agent."""
    only = kind(description="{topic}", expected_output="text", agent=writer)
    return Crew(agents=[writer], tasks=[only])


class Guarded(Flow):
    @start()
    async def write(self):
        result = await crew(BLOCKED, LONG, guardrail=guard).akickoff(inputs={"topic": "x"})
        return result.raw


class Exhausted(Flow):
    @start()
    def write(self):
        return crew(BLOCKED, guardrail=guard).kickoff(inputs={"topic": "x"}).raw


def check_text(text):
    if BLOCKED in text:
        raise HookAborted("blocked by a hook")


class Checked(Flow):
    @start()
    def write(self):
        text = crew(BLOCKED).kickoff(inputs={"topic": "x"}).raw
        check_text(text)
        return text


class Scrubbed(Flow):
    """Drafts a text in one method, with a crew that checks nothing, and replaces it in the next."""

    @start()
    async def draft(self):
        return await crew(BLOCKED).akickoff(inputs={"topic": "x"})

    @listen(draft)
    def scrub(self, result):
        return redact(result).raw


class ToolReplaced(Flow):
    """Replaces what a crew says of the result of its tool."""

    @start()
    def write(self):
        return redact(looked_up().kickoff(inputs={"topic": "x"})).raw


class CheckedCrew(Crew):
    """Replaces what a kickoff returns."""

    def kickoff(self, *args, **kwargs):
        return redact(super().kickoff(*args, **kwargs))


class CheckedLastStep(Crew):
    """Replaces what a step of its kickoff returns."""

    def _post_kickoff(self, result):
        return redact(super()._post_kickoff(result))


class ByCheckedLastStep(Flow):
    @start()
    def write(self):
        writer = speaker(BLOCKED)
        made = CheckedLastStep(agents=[writer], tasks=[task(writer)])
        return made.kickoff(inputs={"topic": "x"}).raw


class ByCheckedCrew(Flow):
    @start()
    def write(self):
        writer = speaker(BLOCKED)
        return CheckedCrew(agents=[writer], tasks=[task(writer)]).kickoff(inputs={"topic": "x"}).raw


class Parts(Flow):
    suppress_flow_events: bool = True

    @start()
    def plan(self):
        return speaker("a plan that is not the answer").kickoff("plan").raw

    @listen(plan)
    def write(self):
        return [Text("here"), File(content=b"abc", media_type="text/csv")]


class Report(BaseModel):
    lines: list[CrewOutput]
    tasks: list[TaskOutput]


class Staff(BaseModel):
    crew: Crew


class Several(Flow):
    @start()
    def write(self):
        outputs = of_one(agent(Scripted("a line"))).kickoff_for_each([{"topic": "x"}] * 2)
        return {"lines": outputs, "tasks": outputs[0].tasks_output}


class SeveralInModel(Flow):
    @start()
    def write(self):
        return Report(**Several().write())


async def kickoff(target):
    """Return the answer of a target's own call."""
    if isinstance(target, Crew):
        kickoff = target.akickoff(inputs={"topic": "hello"})
    elif isinstance(target, type):
        kickoff = target().kickoff_async()
    else:  # guardrails of agents retry only outside of event loops
        kickoff = asyncio.to_thread(target.kickoff, "hello")
    result = await kickoff
    return getattr(result, "json_dict", None) or getattr(result, "raw", result)


async def in_thread(target):
    """Return the answer of a crew or agent whose code asks other ones, outside of event loops."""
    asked = {"inputs": {"topic": "hello"}} if isinstance(target, Crew) else {"messages": "hello"}
    return (await asyncio.to_thread(target.kickoff, **asked)).raw


async def several(target):
    """Return the texts of several results."""
    result = await target().kickoff_async()
    return {name: [each.raw for each in outputs] for name, outputs in dict(result).items()}


async def structured(target):
    """Return the structured answer of a crew."""
    result = await asyncio.to_thread(target.kickoff, inputs={"topic": "hello"})
    return result.pydantic.model_dump()


async def in_loop(target):
    """Return the answer of an agent that does not block."""
    return (await target.kickoff_async("hello")).raw


def in_threads(target):
    """Return a crew whose task runs in a thread."""
    target.tasks[0].async_execution = True
    return target


def watched(target):
    """Return a crew with a callback that changes nothing."""
    target.tasks[0].callback = lambda output: output
    return target


async def blocked(target):
    """Check that a target's own call is blocked."""
    with pytest.raises(Exception, match=r"guardrail|hook"):
        await kickoff(target)


async def accepted(_):
    return LONG


async def replaced(_):
    return REFUSAL


def coworkers():
    """Return a crew whose agent delegates its work."""
    arguments = '{"task": "x", "context": "x", "coworker": "Helper"}'
    boss = speaker(tool_call("delegate_work_to_coworker", arguments), LONG, allow_delegation=True)
    model = Scripted(BLOCKED, stream=True)
    helper = CheckedSync(role="Helper", goal="Help", backstory="None", llm=model)
    return Crew(agents=[boss, helper], tasks=[task(boss)])


def guarded_late():
    """Return a crew whose guardrail was set when its task existed already."""
    target = of_one(speaker(BLOCKED))
    target.tasks[0]._guardrail = rewrite
    return target


def edited(kind):
    """Return a crew with a second task."""
    writer, editor = speaker(BLOCKED), speaker(LONG, role="Editor")
    first = kind(description="{topic}", expected_output="text", agent=writer)
    return Crew(agents=[writer, editor], tasks=[first, task(editor)])


def program(name, target, **fields):
    return Program(name=name, target=target, **{"bare": kickoff, **fields})


def in_flow(name, flow, hook=None, **fields):
    """Return a program of a flow whose method `write` is streamed."""

    def make():
        return adapt(flow, stream_methods=["write"])

    def bare(_):
        return fields.get("bare", kickoff)(flow)

    name = f"{name} in a flow"
    return program(name, hooked(*hook, make) if hook else make, **{**fields, "bare": bare})


MODEL, STEP = InterceptionPoint.POST_MODEL_CALL, InterceptionPoint.POST_STEP
REJECTED = {"bare": blocked, "state": "rejected", "blocked": BLOCKED}
REPLACED = {"blocked": BLOCKED}

PROGRAMS = [
    program("a crew", lambda: crew(LONG)),
    program("an agent", lambda: speaker(LONG)),
    program("white space", lambda: crew(f"\n {LONG}\n\n")),
    program("an agent that thinks", lambda: crew(f"Thought: hm\nFinal Answer:\n {LONG}\n```")),
    program(
        "reasoning",
        lambda: crew(f"<think>hm</think>\n{LONG}"),
        differs=LONG,
        because="reasoning is not part of answers",
    ),
    program("an empty answer", lambda: crew(LONG, callbacks=[forget])),
    program("structured output", lambda: crew('{"line": "a line"}', output_json=Line)),
    program(
        "structured output of a text",
        lambda: crew("a text", '{"line": "a line"}', output_pydantic=Line),
        bare=structured,
    ),
    program(
        "a tool as last step",
        lambda: crew(tool_call("look", "{}"), tools=[Look(result_as_answer=True)]),
    ),
    program("a model that fails midway", lambda: crew(LONG, model=Fading)),
    program(
        "an answer under review",
        lambda: crew(LONG, human_input=True),
        bare=accepted,  # by the reviewer, whom crewai asks on the terminal
        messages=("hi", "ok"),
    ),
    program("a guardrail that rewrites", lambda: crew(BLOCKED, guardrail=rewrite), **REPLACED),
    program("a guardrail and a coworker", lambda: delegated(guardrail=rewrite), **REPLACED),
    program("a guardrail and a tool's arguments", lambda: saved(guardrail=rewrite), **REPLACED),
    program(
        "a guardrail and a tool of an earlier task",
        lambda: looked_up(guardrail=rewrite),
        **REPLACED,
    ),
    program("a guardrail that retries", lambda: crew(BLOCKED, LONG, guardrail=guard), **REPLACED),
    program(
        "a guardrail of an agent that retries",
        lambda: speaker(BLOCKED, LONG, guardrail=guard),
        **REPLACED,
    ),
    program("an exhausted guardrail", lambda: crew(BLOCKED, guardrail=guard), **REJECTED),
    program("a judge", lambda: crew(BLOCKED, LONG, guardrail=judge), bare=in_thread, **REPLACED),
    program(
        "a crew as judge",
        lambda: crew(BLOCKED, LONG, guardrails=[judge_by_crew]),
        bare=in_thread,
        **REPLACED,
    ),
    program(
        "a judge of a task's callback",
        lambda: crew(BLOCKED, callback=judge_callback),
        bare=in_thread,
        **REPLACED,
    ),
    program(
        "a judge of a crew's callback",
        lambda: crew(BLOCKED, callbacks=[judge_callback]),
        bare=in_thread,
        **REPLACED,
    ),
    program(
        "a judge of a hook",
        hooked(InterceptionPoint.OUTPUT, judge_result, lambda: crew(BLOCKED)),
        bare=in_thread,
        **REPLACED,
    ),
    program("a judge of a condition", conditional, bare=in_thread, **REPLACED),
    program("a judge of inputs", asked_before, bare=in_thread),
    program("a callback of a task", lambda: crew(BLOCKED, callback=redact), **REPLACED),
    program("a callback of a crew", lambda: crew(BLOCKED, callbacks=[redact]), **REPLACED),
    program(
        "a callback of a crew base",
        lambda: Press,
        bare=lambda target: kickoff(target().crew()),
        **REPLACED,
    ),
    program("after_llm_call", hooked(MODEL, replace, lambda: crew(BLOCKED)), **REPLACED),
    program(
        "after_llm_call of an agent", hooked(MODEL, replace, lambda: speaker(BLOCKED)), **REPLACED
    ),
    in_flow("after_llm_call", ByCrew, (MODEL, replace), **REPLACED),
    program("after_llm_call that aborts", hooked(MODEL, abort, lambda: crew(BLOCKED)), **REJECTED),
    program("a hook after steps", hooked(STEP, replace_output, lambda: crew(BLOCKED)), **REPLACED),
    in_flow("a hook after runs", ByCrew, (InterceptionPoint.OUTPUT, replace_output), **REPLACED),
    program(
        "a hook at the end that aborts",
        hooked(InterceptionPoint.EXECUTION_END, abort, lambda: crew(BLOCKED)),
        **REJECTED,
    ),
    program(
        "before_llm_call that refuses",
        hooked(InterceptionPoint.PRE_MODEL_CALL, refuse, lambda: crew(BLOCKED)),
        **REJECTED,
    ),
    in_flow(
        "before_llm_call that refuses",
        ByCrew,
        (InterceptionPoint.PRE_MODEL_CALL, refuse),
        **REJECTED,
    ),
    in_flow("a crew", Spoken),
    in_flow("a guardrail", Guarded, **REPLACED),
    in_flow("an exhausted guardrail", Exhausted, **REJECTED),
    program("a method that refuses its text", lambda: Checked, **REJECTED),
    program("a method that changes the text of another one", lambda: Scrubbed, **REPLACED),
    program("a method that changes what a tool has found", lambda: ToolReplaced, **REPLACED),
    program("a class of models", lambda: crew(BLOCKED, model=CheckedModel), **REPLACED),
    in_flow("a class of models", ByCheckedModel, **REPLACED),
    program("a model around another", lambda: of_one(agent(around())), **REPLACED),
    program("a model around several", lambda: of_one(agent(around_mapping())), **REPLACED),
    program("a model around a distant one", lambda: of_one(agent(far_around())), **REPLACED),
    program("an agent of a model around another", lambda: agent(around()), **REPLACED),
    program("an agent of a model around a distant one", lambda: agent(far_around()), **REPLACED),
    program(
        "a manager of a model around another",
        lambda: managed(around(f"Thought: x\nFinal Answer: {BLOCKED}")),
        **REPLACED,
    ),
    in_flow("a model around another", ByModelAround, **REPLACED),
    in_flow("a model around a distant one", ByModelFarAround, **REPLACED),
    in_flow("a model alone around a distant one", ByModelAlone, **REPLACED),
    program(
        "tokens of a model around another",
        lambda: adapt(lambda: of_one(agent(around())), tokens=True),
        bare=lambda _: kickoff(of_one(agent(around()))),
        **REPLACED,
    ),
    *(
        program(
            f"{name} with tokens and outputs of tasks",
            lambda make=make: adapt(make, tokens=True, task_outputs=True),
            bare=answer,
            **REPLACED,
        )
        for name, make, answer in (
            ("a model around a distant one", lambda: of_one(agent(far_around())), replaced),
            ("a class of coworkers", coworkers, accepted),
            ("a class of earlier tasks", lambda: edited(CheckedTask), accepted),
        )
    ),
    program(
        "a guardrail that rewrites the result of a tool",
        lambda: leaking(guardrail=rewrite),
        **REPLACED,
    ),
    program("a callback of a task and a tool", lambda: leaking(callback=redact), **REPLACED),
    program("a callback of a crew and a tool", lambda: leaking([redact]), **REPLACED),
    program("a hook after steps and a tool", hooked(STEP, replace_output, leaking), **REPLACED),
    program(
        "a guardrail of an agent and a tool",
        lambda: speaker(
            tool_call("leak", "{}"), LONG, tools=[Leak(result_as_answer=True)], guardrail=guard
        ),
        **REPLACED,
    ),
    in_flow("a class of crews", ByCheckedCrew, **REPLACED),
    program("a class of agents", lambda: of_one(checked_agent()), **REPLACED),
    program("a class of agents that blocks", lambda: checked_agent(CheckedSync), **REPLACED),
    program(
        "a class of agents that does not block",
        lambda: checked_agent(CheckedAsync),
        bare=in_loop,
        **REPLACED,
    ),
    program(
        "a class of agents that blocks in a crew",
        lambda: of_one(checked_agent(CheckedSync)),
        bare=in_thread,
        **REPLACED,
    ),
    in_flow("a class of agents", ByCheckedAgent, **REPLACED),
    program("a step of an agent", lambda: of_one(checked_agent(CheckedStep)), **REPLACED),
    program("a step of an agent alone", lambda: checked_agent(CheckedStep), **REPLACED),
    in_flow("a step of a crew", ByCheckedLastStep, **REPLACED),
    program(
        "an executor of an agent",
        lambda: of_one(checked_agent(CheckedExecutor)),
        bare=in_thread,
        **REPLACED,
    ),
    program(
        "a guardrail that is set later",
        lambda: guarded_late,
        bare=lambda make: kickoff(make()),
        **REPLACED,
    ),
    program("a class of tasks", lambda: of_one(speaker(BLOCKED), CheckedTask), **REPLACED),
    program(
        "a class of tasks that blocks",
        lambda: of_one(speaker(BLOCKED), CheckedSyncTask),
        bare=in_thread,
        **REPLACED,
    ),
    program(
        "a class of tasks in threads",
        lambda: in_threads(of_one(speaker(BLOCKED), CheckedThread)),
        bare=in_thread,
        **REPLACED,
    ),
    program(
        "a class of tasks with a callback",
        lambda: watched(of_one(speaker(BLOCKED), CheckedTask)),
        **REPLACED,
    ),
    program("a file", lambda: Parts),
    *(
        program(
            name,
            lambda flow=flow: flow,
            bare=several,
            blocked="A secret past",  # of a prompt, which the results have
        )
        for name, flow in (("several results", Several), ("results in a model", SeveralInModel))
    ),
]


@in_each_way
@pytest.mark.parametrize("program", PROGRAMS, ids=str)
async def test_answers_are_those_of_the_kickoff(program, ways, tmp_path, caplog):
    await check(program, ways, tmp_path, caplog)


@pytest.mark.parametrize(
    ("script", "tools"),
    [
        ([Call("look", "I look it up. "), LONG], [Look()]),
        ([Call("look", "I look it up.")], [Look(result_as_answer=True)]),
    ],
)
async def test_text_before_a_tool_call_is_not_the_answer(script, tools, tmp_path, caplog):
    async with openai_model(*script) as model:
        talker = agent(model, tools=tools)
        called = program("tools", lambda: Crew(agents=[talker], tasks=[task(talker)]))
        await check(called, ALL, tmp_path, caplog)


def test_checks_of_both_kinds_of_methods_are_refused():
    target = of_one(checked_agent(CheckedSync), CheckedTask)
    with pytest.raises(TargetError, match="CheckedSync wraps a method that blocks, and Checked"):
        adapt(target)


def test_results_are_not_looked_for_in_crews():
    crew = of_one(agent(Scripted("a line")))
    crew.kickoff(inputs={"topic": "x"})  # its agent then refers to it
    staff = Staff(crew=crew)
    assert plain(staff) is staff
