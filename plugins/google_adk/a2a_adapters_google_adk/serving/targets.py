"""The objects of ADK that can be served, their descriptions, and the runners that run them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.apps.app import App, ResumabilityConfig
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.runners import Runner
from google.adk.tools.base_tool import BaseTool
from google.adk.workflow import BaseNode, Workflow

from a2a_adapters import Skill, TargetError
from a2a_adapters.plugin import ANY_MODES, AgentDescription, overrides

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.sessions.base_session_service import BaseSessionService

Root: TypeAlias = BaseAgent | Workflow
Target: TypeAlias = Root | App | Runner
"""What can be served."""

APP_NAME = "a2a"
"""The app of the sessions of targets that name none."""

with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)  # resumability is experimental
    _RESUMABLE = ResumabilityConfig(is_resumable=True)
_RUNS = ("run", "run_async", "_run_impl", "_run_async_impl")


def root_of(target: object) -> Root:
    """Return the agent or the workflow of a target.

    Raises:
        TargetError: The target cannot be served.
    """
    root: object = target
    if isinstance(target, Runner):
        if overrides(target, "run_async", "google.adk.") or overrides(target, "run", "google.adk."):
            raise TargetError(
                f"{type(target).__name__} overrides run or run_async, which the server does not "
                "use: check the answers in a plugin or an after_model_callback"
            )
        root = target.agent
    elif isinstance(target, App):
        root = target.root_agent
    if not isinstance(root, BaseAgent | Workflow):
        raise TargetError(
            f"{type(target).__name__} is not an agent, a workflow, an app or a runner of ADK"
        )
    return root


def describe(root: Root) -> AgentDescription:
    """Describe an agent or a workflow by its name, its description, its tools and sub-agents."""
    return AgentDescription(
        name=root.name,
        description=root.description or f"The agent {root.name}.",
        skills=[*_tools(root), *_agents(root)],
        input_modes=ANY_MODES,
        output_modes=ANY_MODES,
    )


def _tools(root: Root) -> Iterator[Skill]:
    for tool in root.tools if isinstance(root, LlmAgent) else ():
        if isinstance(tool, BaseTool):
            yield Skill.of(tool.name, tool.description)
        elif callable(tool):
            yield Skill.of(tool.__name__, (tool.__doc__ or "").strip().partition("\n")[0])


def _agents(root: Root) -> Iterator[Skill]:
    for agent in root.sub_agents if isinstance(root, BaseAgent) else ():
        yield Skill.of(agent.name, agent.description, "agent")


def runner_of(target: Target, sessions: BaseSessionService, plugins: list[BasePlugin]) -> Runner:
    """Return the runner of a run; a target that is a runner gives its app and its services.

    Args:
        target: The target.
        sessions: The sessions of a target that is not a runner.
        plugins: Plugins of the run, after those of the app.
    """
    if isinstance(target, Runner):
        return Runner(
            app=_with(plugins, target.app),
            app_name=target.app_name,
            session_service=target.session_service,
            artifact_service=target.artifact_service,
            memory_service=target.memory_service,
            credential_service=target.credential_service,
            auto_create_session=True,
        )
    return Runner(
        app=_with(plugins, target if isinstance(target, App) else _app(target)),
        app_name=APP_NAME,
        session_service=sessions,
        artifact_service=InMemoryArtifactService(),
    )


def speakers(root: object) -> set[str]:
    """Return the names of the agents whose text is streamed as the answer.

    For any other target, the answer is the text of the last agent.
    """
    match root:
        case LlmAgent():
            # Agents for a single turn are tools of the agent.
            chatting = (each for each in root.sub_agents if not _is_tool(each))
            return {root.name}.union(*map(speakers, chatting))
        case SequentialAgent():
            return speakers(root.sub_agents[-1]) if root.sub_agents else set()
        case ParallelAgent():
            return set().union(*map(speakers, root.sub_agents))
        case Workflow(graph=graph) if graph is not None:
            inner = {edge.from_node.name for edge in graph.edges}
            return set().union(*(speakers(each) for each in graph.nodes if each.name not in inner))
        case BaseAgent() if not root.sub_agents:
            return {root.name}
    return set()


def helpers(root: object) -> set[str]:
    """Return the names of the agents whose text goes to the agent that calls them."""
    is_calling = isinstance(root, LlmAgent)
    return set().union(
        *(_names(each) if is_calling and _is_tool(each) else helpers(each) for each in below(root))
    )


def members(root: object) -> dict[str, str]:
    """Return the member of a `ParallelAgent` that each agent is or belongs to, by its name."""
    found: dict[str, str] = {}
    for each in below(root):
        if isinstance(root, ParallelAgent) and isinstance(each, BaseAgent):
            found |= dict.fromkeys(_names(each), each.name)
        found |= members(each)
    return found


def _names(agent: object) -> set[str]:
    name = agent.name if isinstance(agent, BaseAgent) else ""
    return {name}.union(*map(_names, below(agent)))


def _is_tool(node: object) -> bool:
    """Return whether an agent above this node calls it as a tool."""
    return isinstance(node, Workflow) or (isinstance(node, LlmAgent) and node.mode == "single_turn")


def below(root: object) -> Sequence[object]:
    """Return the sub-agents of an agent and the workflows among its tools, or the inner nodes."""
    if not isinstance(root, BaseNode):
        return ()
    return list(root._iter_static_children())  # noqa: SLF001 - not public


def nodes(root: object) -> Iterator[object]:
    """Yield an agent or a workflow, and all below it."""
    yield root
    for each in below(root):
        yield from nodes(each)


def runs_by_itself(node: object) -> bool:
    """Return whether an agent is of a class of the user, which may change what it passes on."""
    return _overrides_run(node, "google.adk.")


def _reads_events(node: object) -> bool:
    """Return whether an agent of the user's own reads the events of others, or of its own class."""
    if not _overrides_run(node, ("google.adk.", "a2a_adapters_google_adk.")):
        return False
    has_fields = type(node).model_fields.keys() > BaseAgent.model_fields.keys()
    return has_fields or bool(node.sub_agents)


def _overrides_run(node: object, package: str | tuple[str, ...]) -> TypeGuard[BaseAgent]:
    return isinstance(node, BaseAgent) and any(overrides(node, name, package) for name in _RUNS)


def schemas(root: object) -> dict[str, object]:
    """Return the `output_schema` of each agent that has one, by the agent's name."""
    found = {}
    if isinstance(root, LlmAgent) and root.output_schema is not None:
        found[root.name] = root.output_schema
    for each in below(root):
        found |= schemas(each)
    return found


def _with(plugins: list[BasePlugin], app: App) -> App:
    return app.model_copy(update={"plugins": [*app.plugins, *plugins]}) if plugins else app


def _app(root: Root) -> App:
    # Without resumability, a sequence ends with the agent whose question is answered. With it,
    # agents yield an empty event at their end, which one of the user's own takes for an answer.
    is_composed = isinstance(root, BaseAgent) and not isinstance(root, LlmAgent)
    is_resumable = is_composed and not any(map(_reads_events, nodes(root)))
    resumability = _RESUMABLE if is_resumable else None
    # `App(...)` would refuse names that the framework's runner accepts from agents.
    return App.model_construct(
        name=APP_NAME, root_agent=root, plugins=[], resumability_config=resumability
    )
