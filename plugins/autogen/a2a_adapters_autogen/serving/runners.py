"""Looks into agents and teams.

AutoGen has no public way to do most of this, so the private attributes of its 0.7 classes are
read here, and only here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias

from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.base import ChatAgent, Team
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.messages import StructuredMessage
from autogen_agentchat.teams import (
    BaseGroupChat,
    GraphFlow,
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from autogen_agentchat.tools import AgentTool, TeamTool
from autogen_core import CancellationToken, SingleThreadedAgentRuntime
from autogen_core.memory import ListMemory
from autogen_core.models import ChatCompletionClient
from autogen_core.tools import BaseTool, StaticWorkbench, Workbench

from a2a_adapters import Part, TargetError
from a2a_adapters.plugin import SavedAttributes
from a2a_adapters_autogen.serving.references import OF_RUNS, held_by, is_a, is_own

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from autogen_agentchat.base import TerminationCondition
    from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage
    from autogen_agentchat.teams import DiGraph
    from pydantic import BaseModel

    from a2a_adapters_autogen.serving.memory import State


Withdraw: TypeAlias = Callable[[], Awaitable[None]]
Ask: TypeAlias = Callable[[str, str], Awaitable[str]]

current_ask: ContextVar[Ask] = ContextVar("current_ask")
"""Asks the caller of the current run, given the asking agent's name and its question."""


Relay: TypeAlias = Callable[[str, str, Sequence[Part], Withdraw], Awaitable[Sequence[Part]]]

current_relay: ContextVar[Relay | None] = ContextVar("current_relay", default=None)
"""Passes the question of a member, such as a remote agent, to the caller of the current run.

Takes the member's name, the question's text and other parts, and a function that withdraws the
question; returns the parts of the reply.
"""


def caller_input(agent: str) -> Callable[[str, CancellationToken | None], Awaitable[str]]:
    """Return the `input_func` of a served `UserProxyAgent`: it asks the caller."""

    async def ask_caller(prompt: str, _token: CancellationToken | None = None) -> str:
        return await current_ask.get()(agent, prompt)

    return ask_caller


Runner: TypeAlias = ChatAgent | Team
"""An agent or a team."""

Resource: TypeAlias = ChatAgent | Workbench | ChatCompletionClient
"""An object that may hold connections or processes."""

TURN_TAKING = (RoundRobinGroupChat, SelectorGroupChat, Swarm)
"""The teams in which one agent speaks at a time, and all others are idle."""

_ENDING_BY_THEMSELVES = (GraphFlow, MagenticOneGroupChat)
_ROUNDS_BETWEEN_QUEUES = 20
"""The rounds of an event loop after which no message is on its way from one queue to another."""
_POLL_SECONDS = 0.001
"""The time between looks at queues that a class of the user empties."""
_CONSOLE_INPUT = "autogen_agentchat.agents._user_proxy_agent"


def runners_in(runner: Runner) -> Iterator[Runner]:
    """Yield a runner and all runners inside it."""
    yield runner
    for inner in (*_covered(runner), *_uncovered(runner)):
        yield from runners_in(inner)


def tools(runner: Runner) -> list[BaseTool[Any, Any]]:
    """Return an agent's local tools; those of MCP servers are unknown before a run."""
    local = (each for each in _workbenches(runner) if isinstance(each, StaticWorkbench))
    return [tool for workbench in local for tool in workbench._tools]  # noqa: SLF001


def resources(runner: Runner) -> Iterator[Resource]:
    """Yield the agents, then the workbenches, then the model clients."""
    members = list(runners_in(runner))
    workbenches = [workbench for member in members for workbench in _workbenches(member)]
    yield from (member for member in members if isinstance(member, ChatAgent))
    yield from workbenches
    yield from model_clients((*members, *workbenches))


async def close(resource: Resource) -> None:
    """Close a resource, including the MCP server's process of a workbench in any state."""
    if not isinstance(resource, Workbench):
        await resource.close()
        return
    if (actor := getattr(resource, "_actor", resource)) is None:  # it was never started
        return
    try:
        await resource.stop()
    except asyncio.CancelledError:
        # While its server does not answer, the session ignores the stop.
        if (session := getattr(actor, "_actor_task", None)) is not None:
            session.cancel()
        raise


def participants(runner: Runner) -> list[Runner]:
    """Return the members of a team; empty for an agent."""
    return list(getattr(runner, "_participants", ()))


def accepts_images(runner: Runner) -> bool:
    """Whether a model in it accepts images. Agents without a model are assumed to accept them."""
    clients = list(model_clients(runners_in(runner)))
    return not clients or any(client.model_info["vision"] for client in clients)


def returns_data(runner: Runner) -> bool:
    """Whether an agent's answer is structured, so that its tokens are JSON."""
    types = runner.produced_message_types if isinstance(runner, ChatAgent) else ()
    return any(issubclass(kind, StructuredMessage) for kind in types)


def wrapped_in(runner: Runner) -> list[Runner]:
    """Return the agent that a `MessageFilterAgent` speaks for, under that agent's name."""
    wrapped = getattr(runner, "_wrapped_agent", None)
    return [wrapped] if isinstance(wrapped, ChatAgent) else []


def voice_names(runner: Runner) -> list[str]:
    """Return the names under which messages appear, once for each agent that has it."""
    agents = (member for member in runners_in(runner) if isinstance(member, ChatAgent))
    return [agent.name for agent in agents if not wrapped_in(agent)]


def inner_names(runner: Runner) -> set[str]:
    """Return the names of agents inside participants, for instance behind a tool."""
    taking_part = [runner]
    for member in taking_part:  # which grows
        taking_part += [*participants(member), *wrapped_in(member)]
    return {member.name for member in runners_in(runner)} - {member.name for member in taking_part}


def prepare(
    runner: Runner, max_messages: int, input_type: type[BaseModel] | None = None
) -> list[str]:
    """Prepare a runner for a server; return the names of teams that got a message limit.

    User proxies ask the caller instead of the console. Teams without an end get a message limit,
    and all teams register the message types of their inner teams and of the caller.

    Raises:
        TargetError: A team was given its own runtime.
    """
    limited = []
    for member in with_attached(runner):
        if isinstance(member, UserProxyAgent) and _asks_console(member):
            member.input_func = caller_input(member.name)
            member._is_async = True  # noqa: SLF001
    for member in runners_in(runner):
        if isinstance(member, BaseGroupChat):
            if not member._embedded_runtime:  # noqa: SLF001
                raise TargetError("a served team runs on its own runtime: leave out `runtime`")
            _register(member, input_type)
            if ending_of(member) == (None, None) and not isinstance(member, _ENDING_BY_THEMSELVES):
                member._termination_condition = MaxMessageTermination(max_messages)  # noqa: SLF001
                limited.append(member.name)
                replace_runtimes(member)
    return limited


def stateful_parts(runner: Runner) -> Iterator[object]:
    """Yield all stateful parts of a runner."""
    for member in with_attached(runner):
        yield member
        for name in ("_termination_condition", "_model_context"):
            if (part := getattr(member, name, None)) is not None:
                yield part
                yield from conditions_in(part)


async def state_of(runner: Runner) -> State:
    """Return the whole state, that of tools and of agents behind tools and filters included."""
    return {
        "state": await runner.save_state(),
        "inner": {name: await state_of(inner) for name, inner in _hidden(runner).items()},
        "tools": {name: await tool.save_state_json() for name, tool in _tools(runner).items()},
    }


async def restore(runner: Runner, state: State) -> None:
    """Load a state of `state_of`."""
    for name, inner in _hidden(runner).items():
        if name in state["inner"]:
            await restore(inner, state["inner"][name])
    for name, tool in _tools(runner).items():
        if name in state["tools"]:
            await tool.load_state_json(state["tools"][name])
    await runner.load_state(state["state"])


def messages_since(
    runner: Runner, before: State | None, after: State
) -> list[BaseAgentEvent | BaseChatMessage]:
    """Return the messages and events that a team's thread gained between two of its states."""
    create = runner._message_factory.create  # type: ignore[union-attr]  # noqa: SLF001
    known = len(manager_state(before).get("message_thread", ()))
    return [create(message) for message in manager_state(after)["message_thread"][known:]]


async def replay_to_termination(
    runner: Runner, said: Sequence[BaseAgentEvent | BaseChatMessage]
) -> None:
    """Pass earlier messages to a team's termination condition: `save_state` omits it."""
    condition = getattr(runner, "_termination_condition", None)
    if condition is not None and said:
        await condition(said)


async def reset(runner: Runner) -> None:
    """Reset the runner and its termination conditions."""
    for member in (runner, *_hidden(runner).values()):
        if isinstance(member, Team):
            await member.reset()
        else:
            await member.on_reset(CancellationToken())


def replace_runtimes(runner: Runner) -> None:
    """Give every team in it a new runtime and queue, unless its creator chose the runtime.

    After an interrupted run a team still waits for answers that will never come, and both belong to
    the event loop of the first run.
    """
    for member in runners_in(runner):
        if isinstance(member, BaseGroupChat) and member._embedded_runtime:  # noqa: SLF001
            member._output_message_queue = asyncio.Queue()  # noqa: SLF001
            member._runtime = SingleThreadedAgentRuntime(  # noqa: SLF001
                ignore_unhandled_exceptions=False
            )
            member._initialized = False  # noqa: SLF001


def ending_of(team: BaseGroupChat) -> tuple[TerminationCondition | None, int | None]:
    """Return a team's termination condition and its maximum number of turns."""
    return team._termination_condition, team._max_turns  # noqa: SLF001


def conditions_in(part: object) -> Sequence[TerminationCondition]:
    """Return the conditions that a condition combines, if it does so."""
    return getattr(part, "_conditions", ())


def graph_of(team: GraphFlow) -> DiGraph:
    """Return the graph of a flow."""
    return team._graph  # noqa: SLF001


def is_sequential(graph: DiGraph) -> bool:
    """Whether the agents of a graph run one at a time.

    Conditions select one of several edges; without conditions all of them are followed.
    """
    forks = [node for node in graph.nodes.values() if len(node.edges) > 1]
    is_selecting = all(
        fork.edges[0].condition is not None or fork.edges[0].condition_function is not None
        for fork in forks
    )
    return is_selecting and len(graph.get_start_nodes()) == 1


def manager_state(state: State | None) -> dict[str, Any]:
    """Return the part of a team's state that has its thread and turns; empty if there is none."""
    agents = state["state"].get("agent_states", {}).values() if state else ()
    return next((agent for agent in agents if "message_thread" in agent), {})


async def settled(runner: Runner) -> None:
    """Wait until all teams have passed on what their agents have said.

    An agent that asks does so at once, while earlier messages go through the queues of its teams.
    """
    teams = [member for member in with_attached(runner) if isinstance(member, BaseGroupChat)]
    rounds = 0
    while rounds < _ROUNDS_BETWEEN_QUEUES:
        is_passing = any(map(_is_passing, teams))
        rounds = 0 if is_passing else rounds + 1
        await asyncio.sleep(_POLL_SECONDS if is_passing else 0)


def _is_passing(team: BaseGroupChat) -> bool:
    """Whether messages wait in the queues of a running team, such as for a class that checks it."""
    waiting = getattr(team._runtime, "unprocessed_messages_count", 0)  # noqa: SLF001
    return team._is_running and bool(waiting or team._output_message_queue.qsize())  # noqa: SLF001


def running_tasks(runner: Runner) -> list[asyncio.Task[Any]]:
    """Return the asyncio tasks of the agents of all teams."""
    runtimes = (getattr(member, "_runtime", None) for member in runners_in(runner))
    return [task for runtime in runtimes for task in getattr(runtime, "_background_tasks", ())]


def _hidden(runner: Runner) -> dict[str, Runner]:
    """Return the runners that no `save_state` covers."""
    return {
        f"{member.name}/{inner.name}": inner
        for member in _with_covered(runner)
        for inner in _uncovered(member)
    }


def _tools(runner: Runner) -> dict[str, BaseTool[Any, Any]]:
    """Return the tools with a state of their own."""
    return {
        f"{member.name}/{tool.name}": tool
        for member in _with_covered(runner)
        for tool in tools(member)
        if not isinstance(tool, AgentTool | TeamTool)
    }


def _with_covered(runner: Runner) -> Iterator[Runner]:
    yield runner
    for inner in _covered(runner):
        yield from _with_covered(inner)


def _covered(runner: Runner) -> list[Runner]:
    inner = getattr(runner, "_team", None)
    return [*participants(runner), *([inner] if isinstance(inner, Team) else [])]


def own_attributes(runner: Runner) -> SavedAttributes:
    """Return what custom classes and lists of memories keep now, which no state covers."""
    memories = [each for member in with_attached(runner) for each in _memories(member)]
    return SavedAttributes([*filter(is_own, stateful_parts(runner)), *memories], unless=OF_RUNS)


def _memories(runner: Runner) -> list[ListMemory]:
    memories = getattr(runner, "_memory", None) or ()
    return [each for each in memories if isinstance(each, ListMemory)]


def with_attached(runner: Runner) -> list[Runner]:
    """Return a runner, all inside it, and all that custom classes among them have in attributes."""
    found: dict[int, Runner] = {}
    waiting = [runner]
    for each in waiting:  # which grows
        if id(each) not in found:
            found[id(each)] = each
            waiting += [*_covered(each), *_uncovered(each)]
            held = held_by(each) if is_own(each) else ()
            waiting += (other for other in held if is_a(other, (ChatAgent, Team)))
    return list(found.values())


def attached(runner: Runner) -> list[Runner]:
    """Return the runners that custom classes have in attributes, whose state is not stored."""
    known = {id(each) for each in runners_in(runner)}
    return [each for each in with_attached(runner) if id(each) not in known]


def _uncovered(runner: Runner) -> list[Runner]:
    behind_tools = [
        tool._task_runner  # noqa: SLF001
        for tool in tools(runner)
        if isinstance(tool, AgentTool | TeamTool)
    ]
    return [*behind_tools, *wrapped_in(runner)]


def _register(team: BaseGroupChat, input_type: type[BaseModel] | None) -> None:
    agents = (member for member in runners_in(team) if isinstance(member, ChatAgent))
    kinds = {kind for agent in agents for kind in agent.produced_message_types}
    if input_type is not None:
        kinds.add(StructuredMessage[input_type])  # type: ignore[valid-type]
    known = team._message_factory  # noqa: SLF001
    for kind in kinds:
        if not known.is_registered(kind):
            known.register(kind)


def _workbenches(runner: Runner) -> list[Workbench]:
    workbenches = getattr(runner, "_workbench", None) or ()
    found = workbenches if isinstance(workbenches, list | tuple) else [workbenches]
    return [workbench for workbench in found if isinstance(workbench, Workbench)]


def model_clients(owners: Iterable[Runner | Workbench]) -> Iterator[ChatCompletionClient]:
    """Yield the model clients of agents and workbenches."""
    clients = (getattr(owner, "_model_client", None) for owner in owners)
    return (client for client in clients if isinstance(client, ChatCompletionClient))


def _asks_console(agent: UserProxyAgent) -> bool:
    function = agent.input_func
    return function is input or getattr(function, "__module__", "") == _CONSOLE_INPUT
