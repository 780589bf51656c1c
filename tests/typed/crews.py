"""A user's program with CrewAI, for type checkers."""

from __future__ import annotations

from a2a_adapters_crewai import A2ALLM, A2AAgent, A2ATool
from crewai import Agent, Crew, Task

from a2a_adapters import RemoteAgent, serve

URL = "http://127.0.0.1:8000"

agency = A2AAgent.from_url(URL, role="Travel agency")
other = A2AAgent(agent=URL, role="Airline", goal="Sell flights.")
tools = [A2ATool.from_url(URL, timeout=5), A2ATool(agent=URL, name="desk", description="Books.")]
model = A2ALLM(agent=RemoteAgent(URL), stream=True)
quick = A2ALLM(agent=URL, timeout=5, max_retries=1)
planner = Agent(role="Planner", goal="Plan.", backstory="Old.", llm=quick, tools=[*tools])
trip = Task(description="Plan a trip.", expected_output="A trip.", agent=agency)
crew = Crew(agents=[agency, other, planner], tasks=[trip])

serve(crew, name="Trips")
