"""A node of a graph that hands work to a remote agent, and suspends the graph meanwhile."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages
from langgraph.func import task
from langgraph.types import Command, interrupt

from a2a_adapters import RemoteAgent, RemoteTaskError
from a2a_adapters.plugin import PushReceiver, check_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Unpack

    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph

    from a2a_adapters.plugin import AgentOptions

_TASK = "a2a_task"


class A2ATaskNode:
    """A node that starts a task at a remote agent: `graph.add_node("research", A2ATaskNode(url))`.

    The graph needs a checkpointer and `ainvoke` or `astream`. The node sends the last message of
    the key `messages`, and suspends the graph with an interrupt until the task has ended. It then
    adds the answer as a message. Nothing waits in the meantime: the graph may be resumed by
    another process, with `resume` or any other way. A resumed node asks the agent for the task's
    state, and suspends the graph again if the task is not over.

    The value of the interrupt has the task's id as `a2a_task`, its `state`, and its `question` if
    the agent asks one. Then the value that resumes the graph is the answer.

    Args:
        agent: The agent, or its URL.
        skill: The id of the skill to choose; see `SendOptions`.
        notify: Receives push notifications of the tasks, so that `resume` keeps no connection open.
        **options: Options for an agent given by its URL; see `AgentOptions`.
    """

    def __init__(
        self,
        agent: str | RemoteAgent,
        *,
        skill: str | None = None,
        notify: PushReceiver | None = None,
        **options: Unpack[AgentOptions],
    ) -> None:
        check_arguments(A2ATaskNode, locals())
        self._agent = RemoteAgent.of(agent, **options)
        self._skill = skill
        self._notify = notify
        # LangGraph stores the results of tasks, and does not run them again when a node resumes.
        self._start = task(self._start_task)
        self._look = task(self._look_at_task)
        self._answer = task(self._answer_task)

    async def __call__(self, state: Mapping[str, Any]) -> dict[str, list[BaseMessage]]:
        """Run as a node."""
        *_, message = convert_to_messages(state["messages"])
        task_id, text = await self._start(message.text)
        if not task_id:
            return {"messages": [AIMessage(text)]}
        while True:
            seen = await self._look(task_id)
            if seen["state"] in {"failed", "rejected", "canceled"}:
                # raises its error
                await self._agent.task(task_id).result()
            if seen["state"] == "completed":
                return {"messages": [AIMessage(seen["text"], id=task_id)]}
            value = interrupt(
                {_TASK: task_id, "state": seen["state"], "question": seen["question"]}
            )
            if seen["question"]:
                await self._answer(task_id, str(value))

    async def _start_task(self, message: str) -> tuple[str, str]:
        started = await self._agent.start(message, skill=self._skill, notify=self._notify)
        return started.id, "" if started.id else (await started.result()).whole_text

    async def _look_at_task(self, task_id: str) -> dict[str, str]:
        reply = await self._agent.task(task_id).status()
        return {"state": reply.state, "question": reply.question, "text": reply.whole_text}

    async def _answer_task(self, task_id: str, answer: str) -> None:
        await self._agent.task(task_id).answer(answer)

    async def resume(
        self,
        graph: CompiledStateGraph[Any, Any, Any, Any],
        config: RunnableConfig,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - part of the API, like `RemoteTask.result`
    ) -> dict[str, Any]:
        """Wait until the tasks of a suspended thread have ended or ask, and resume the graph.

        If they have ended, the graph continues; if one asks, it is suspended with the question.

        Args:
            graph: The graph, with the checkpointer of the suspended thread.
            config: Names the thread, as for `ainvoke`.
            timeout: Maximum time to wait for each task in seconds; None waits without limit.

        Raises:
            RemoteTimeoutError: The time is up; the graph stays suspended.
        """
        snapshot = await graph.aget_state(config)
        resumed = {}
        for pending in snapshot.interrupts:
            value = pending.value
            if isinstance(value, dict) and _TASK in value and not value["question"]:
                await self._settled(value[_TASK], timeout)
                resumed[pending.id] = True
        result: dict[str, Any] = await graph.ainvoke(Command(resume=resumed), config)
        return result

    async def _settled(self, task_id: str, timeout: float | None) -> None:  # noqa: ASYNC109
        with suppress(RemoteTaskError):  # the node looks at the outcome
            await self._agent.task(task_id, notify=self._notify).result(timeout)
