"""Asks an A2A agent for capitals, with the official a2a-sdk client only.

pip install a2a-adapters
python examples/demo_client.py http://127.0.0.1:8000 ["What is the capital of Peru?"]
"""

from __future__ import annotations

import asyncio
import os
import sys
import time

from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.helpers import get_artifact_text, new_text_message
from a2a.types import AgentCard, GetTaskRequest, Role, SendMessageRequest, Task, TaskState
from httpx import AsyncClient, Timeout
from rich.console import Console

CAPITALS = {
    "What is the capital of France?": "Paris",
    "And of Kenya?": "Nairobi",
}

console = Console(highlight=False, soft_wrap=True)


async def main(url: str, questions: list[str]) -> None:
    async with AsyncClient(timeout=Timeout(180)) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        show_card(card)
        client = ClientFactory(ClientConfig(httpx_client=http)).create(card)
        for question in questions:
            task = await ask(client, question)
            check(question, task)


def show_card(card: AgentCard) -> None:
    console.print(f"\n[bold green]{card.name}[/] - {card.description}")
    console.print(f"[dim]{card.supported_interfaces[0].url}[/]")
    for skill in card.skills:
        console.print(f"  [cyan]can[/] {skill.name}: {skill.description}")


async def ask(client: Client, question: str) -> Task:
    """Stream the answer to the terminal and return the finished task."""
    console.print(f"\n[bold]You[/]    {question}\n[bold green]Agent[/] ", end="")
    started, first, chunks, task_id = time.perf_counter(), 0.0, 0, ""
    message = new_text_message(question, role=Role.ROLE_USER)
    async for event in client.send_message(SendMessageRequest(message=message)):
        if event.HasField("task"):
            task_id = event.task.id
        if event.HasField("artifact_update"):
            first = first or time.perf_counter() - started
            chunks += 1
            text = get_artifact_text(event.artifact_update.artifact)
            console.print(text, end="", markup=False)
    took = time.perf_counter() - started
    console.print(
        f"\n[dim]       {chunks} chunks, the first after {first:.2f} s of {took:.2f} s[/]"
    )
    return await client.get_task(GetTaskRequest(id=task_id))


def check(question: str, task: Task) -> None:
    """Print the state of the task; fail unless the answer is right."""
    answer = "".join(get_artifact_text(artifact) for artifact in task.artifacts).strip()
    state = TaskState.Name(task.status.state)
    console.print(f"[dim]       {state}, task {task.id}, context {task.context_id}[/]")
    if task.status.state != TaskState.TASK_STATE_COMPLETED:
        sys.exit(f"The task ended as {state}.")
    capital = CAPITALS.get(question, "")
    if capital not in answer and not os.environ.get("OPENAI_BASE_URL"):
        sys.exit(f"Expected {capital}, got {answer!r}.")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    asyncio.run(main(sys.argv[1], sys.argv[2:] or list(CAPITALS)))
