from __future__ import annotations

import json
from dataclasses import asdict

from a2a_adapters_crewai import adapt
from crewai import Crew
from crewai.flow import Flow, start
from pydantic import BaseModel

from a2a_adapters import Skill
from tests.plugins.crewai.support import Scripted, agent, crew, task

SECRET = "never tell the launch code"


def newsroom(**fields):
    researcher = agent(
        Scripted("x"), role="Researcher", goal="Find facts about {topic}.", backstory=SECRET
    )
    writer = agent(Scripted("x"), backstory=SECRET)
    tasks = [task(researcher, f"{SECRET} {{topic}}", name="research"), task(writer, "{tone}")]
    return Crew(agents=[researcher, writer], tasks=tasks, **fields)


def test_a_crew_is_described_by_its_tasks_roles_and_placeholders():
    about = adapt(newsroom(name="Newsroom")).describe()
    description = "Newsroom: research: Find facts about {topic}; Write well."
    assert (about.name, about.description) == ("Newsroom", description)
    assert about.skills == [
        Skill(
            id="newsroom",
            name="Newsroom",
            description=description,
            tags=["Researcher", "Writer", "crew"],
            examples=['{"tone": "<tone>", "topic": "<topic>"}'],
        )
    ]
    assert adapt(newsroom()).describe().name == "Researcher and Writer"


def test_the_card_omits_private_texts():
    for target in (newsroom(), agent(Scripted(SECRET), backstory=SECRET), crew(SECRET)):
        assert SECRET not in json.dumps(asdict(adapt(target).describe()))


class Trip(BaseModel):
    city: str = ""
    days: int = 1


class PlanTrip(Flow[Trip]):
    """Plan a trip.

    Internal: uses the cheap model.
    """

    @start()
    def plan(self):
        return "planned"


class Untold(Flow):
    @start()
    def plan(self):
        return "planned"


def test_a_flow_is_described_by_its_name_and_docstring():
    about = adapt(PlanTrip).describe()
    assert (about.name, about.description) == ("PlanTrip", "Plan a trip.")
    assert about.skills[0].examples == ['{"city": "<city>", "days": "<days>"}']
    assert adapt(Untold).describe().description == "The flow Untold."
    assert adapt(PlanTrip(name="Trips")).describe().name == "Trips"


def test_an_agent_is_described_by_its_role_and_goal():
    about = adapt(agent(Scripted("x"))).describe()
    assert (about.name, about.description) == ("Writer", "Write well")
