"""What callbacks, checks and methods of a custom class keep belongs to one run."""

from __future__ import annotations

import pytest
from smolagents import CodeAgent, FinalAnswerStep, ToolCallingAgent, tool
from smolagents.monitoring import LogLevel

from tests.plugins.smolagents.support import Fake, calling, made, results, said
from tests.support.agents.isolation import check_apart


def model():
    return Fake(lambda messages: said(messages)[-1])


class Noting(ToolCallingAgent):
    """Answers with what its callbacks have kept, and with the words of its user."""

    def __init__(self, answers=None, **options):
        self.user, self.notes, self.steps = "", [], 0
        callbacks = [self.note, lambda step: self.count(), self.notes.append]
        super().__init__(
            model=answers or model(), **{"tools": [], "step_callbacks": callbacks, **options}
        )

    def note(self, step, agent):
        assert agent is self
        self.user = self.memory.steps[-1].task
        self.notes.append(self.user)

    def count(self):
        self.steps += 1

    def _run_stream(self, *args, **kwargs):
        for each in super()._run_stream(*args, **kwargs):
            yield (
                FinalAnswerStep(f"{self.user} {self.notes} {self.steps}")
                if isinstance(each, FinalAnswerStep)
                else each
            )


def noting():
    return Noting()


def managing():
    def ask(messages):
        if done := results(messages):
            return next(iter(done.values()))
        return calling("desk", f"d{len(messages)}", task=said(messages)[-1])

    return made(Fake(ask), managed_agents=[Noting(name="desk", description="Notes.")])


def with_state():
    """Return an agent whose tool changes a variable of the agent."""

    @tool
    def add(words: list, word: str) -> str:
        """Add a word.

        Args:
            words: The words so far.
            word: Another one.
        """
        words.append(word)
        return str(words)

    def call(messages):
        if done := results(messages):
            return next(iter(done.values()))
        return calling("add", f"a{len(messages)}", words="words", word=said(messages)[-1])

    agent = made(Fake(call), tools=[add])
    agent.state["words"] = []
    return agent


def with_variables():
    """Return an agent whose executor has a list, to which its model's code adds words."""
    agent = CodeAgent(tools=[], model=Fake(adding), verbosity_level=LogLevel.OFF)
    agent.python_executor.send_variables({"words": []})
    agent.python_executor("def add(word):\n    words.append(word)\n    return str(words)")
    return agent


def adding(messages):
    return f"<code>\nfinal_answer(add({said(messages)[-1]!r}))\n</code>"


def renaming():
    """Return an agent whose callback changes its tools and instructions."""

    def note(step, agent):
        agent.tools[agent.task] = agent.tools["final_answer"]
        agent.prompt_templates["system_prompt"] += agent.task

    def answer(messages):
        return f"{said(messages)[-1]} {messages[0].content} {sorted(agent.tools)}"

    agent = made(Fake(answer), step_callbacks=[note])
    agent.prompt_templates["system_prompt"] = "Answer."
    return agent


@pytest.mark.parametrize("make", [noting, managing, with_state, with_variables, renaming])
async def test_what_a_run_keeps_is_its_own(make):
    await check_apart(make())


async def test_callbacks_of_an_agent_that_a_function_makes_are_those_of_its_run():
    await check_apart(noting)
