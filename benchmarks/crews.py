"""The measured crew: `python crews.py RUNS` prints the time of a run without a server."""

from __future__ import annotations

import asyncio
import sys
import time
from statistics import median

from a2a_adapters_crewai import quiet

quiet()

from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM

WARM_UP_RUNS = 3


class Model(BaseLLM):
    """Gives the same answer after some time."""

    seconds: float

    def call(self, *_, **__) -> str:
        time.sleep(self.seconds)
        return "Final Answer: done"

    def get_input_tokens_count(self, *_, **__) -> int:
        return 0


def make_crew(seconds: float) -> Crew:
    model = Model(model="measured", seconds=seconds)
    writer = Agent(role="Writer", goal="Write", backstory="b", llm=model)
    return Crew(
        agents=[writer], tasks=[Task(description="{topic}", expected_output="o", agent=writer)]
    )


async def direct(runs: int) -> float:
    """Return the milliseconds of one `akickoff`, including the copy that concurrent runs need."""
    crew = make_crew(0)
    took = []
    for _ in range(WARM_UP_RUNS + runs):
        began = time.perf_counter()
        await crew.copy().akickoff({"topic": "hello"})
        took.append(time.perf_counter() - began)
    return median(took[WARM_UP_RUNS:]) * 1e3


if __name__ == "__main__":
    print(asyncio.run(direct(int(sys.argv[1]))))
