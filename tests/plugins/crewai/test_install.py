"""The extra alone in an empty environment, and the project that `init` creates."""

from __future__ import annotations

import pytest

from tests.support.projects import check
from tests.test_install import check_alone, dist, wheel  # noqa: F401 - fixtures

CREWAI = """
from a2a_adapters_crewai import quiet
quiet()
from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from a2a_adapters import build_app
class Model(BaseLLM):
    def call(self, messages, **_):
        return "Final Answer: hello"
writer = Agent(role="Writer", goal="Write", backstory="b", llm=Model(model="fake"))
crew = Crew(agents=[writer], tasks=[Task(description="{topic}", expected_output="o", agent=writer)])
assert build_app(crew)
"""


@pytest.mark.thorough
@pytest.mark.timeout(300)
def test_the_extra_serves_a_crew(wheel, tmp_path):  # noqa: F811
    check_alone(wheel, "[crewai]", CREWAI, tmp_path / "environment", tmp_path)


@pytest.mark.timeout(10 * 60)
def test_a_generated_project_runs(tmp_path, monkeypatch):
    check(tmp_path / "host", "crewai", monkeypatch)
