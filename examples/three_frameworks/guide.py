"""A crew that knows the sights of cities."""

from __future__ import annotations

from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM


class Rules(BaseLLM):
    """Stands in for a language model."""

    def call(self, messages, *_, **__) -> str:
        return f"Final Answer: {'the Colosseum' if 'Rome' in str(messages) else 'nothing'}"

    def get_input_tokens_count(self, *_, **__) -> int:
        return 0


expert = Agent(role="Guide", goal="Guide", backstory="b", llm=Rules(model="rules"))
task = Task(description="What is there to see in {city}?", expected_output="A sight", agent=expert)
crew = Crew(name="Guide", agents=[expert], tasks=[task])
