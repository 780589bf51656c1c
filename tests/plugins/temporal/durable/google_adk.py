"""An agent of Google ADK whose calls of models and tools are activities."""

from __future__ import annotations

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from a2a_adapters_temporal import A2ACaller
    from google.adk.agents.llm_agent import LlmAgent
    from google.adk.models.registry import LLMRegistry
    from google.adk.runners import InMemoryRunner
    from google.genai.types import Content, Part
    from temporalio.google_adk import GoogleAdkPlugin, TemporalModel
    from temporalio.google_adk.workflow import activity_as_tool

    from tests.plugins.google_adk import support
    from tests.plugins.temporal.durable import halves
    from tests.support.agents.chores import turns


class Scripted(support.Fake):
    """The model of the activity, which ADK finds by its name."""

    def __init__(self, model: str) -> None:
        super().__init__(turns(support, halves.WORK))

    @classmethod
    def supported_models(cls) -> list[str]:
        return ["scripted"]


LLMRegistry.register(Scripted)
PLUGINS = [GoogleAdkPlugin()]
ACTIVITIES = [halves.first, halves.second]


@workflow.defn
class Chores:
    @workflow.init
    def __init__(self, text: str) -> None:
        self.caller = A2ACaller()

    @workflow.run
    async def run(self, text: str) -> None:
        await self.caller.ask("Ready?")
        tools = [activity_as_tool(half, **halves.LIMITS) for half in ACTIVITIES]
        agent = LlmAgent(name="helper", model=TemporalModel("scripted"), tools=tools)
        runner = InMemoryRunner(agent, app_name="chores")
        session = await runner.session_service.create_session(app_name="chores", user_id="user")
        said = Content(role="user", parts=[Part(text=text)])
        async for _ in runner.run_async(user_id="user", session_id=session.id, new_message=said):
            pass
