"""Functions around objects of frameworks without a plugin, as advice."""

from __future__ import annotations

_FUNCTIONS = {
    "ag2": (
        "AG2",
        "async def answer(text: str) -> str:",
        "reply = await agent.ask(text)",
        "return reply.body",
    ),
    "agno": (
        "Agno",
        "async def answer(text: str) -> str:",
        "run = await agent.arun(text)",
        "return run.content",
    ),
    "dspy": (
        "DSPy",
        "async def answer(question: str) -> str:",
        "prediction = await module.acall(question=question)",
        "return prediction.answer",
    ),
    "haystack": (
        "Haystack",
        "async def answer(text: str) -> str:",
        'result = await pipeline.run_async({"prompt": {"question": text}})',
        'return result["model"]["replies"][0]',
    ),
}
"""The names of the frameworks, and functions around their objects, by their packages."""


def advice(target: object) -> str | None:
    """Return the function that serves an object of a known framework, or None."""
    for kind in type(target).__mro__:
        if found := _FUNCTIONS.get(kind.__module__.partition(".")[0]):
            framework, head, *body = found
            lines = "\n".join([f"    {head}", *(f"        {line}" for line in body)])
            return f"Serve objects of {framework} by a function:\n\n{lines}\n"
    return None
