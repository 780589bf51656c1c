"""A coding pipeline over an OmniRoute gateway: write, review, and sum the cost.

    pip install 'a2a-adapters[langchain]'
    python examples/omniroute_pipeline.py

Two agents served to OmniRoute's clients stand in for the gateway. If OMNIROUTE_URL is set, and
OMNIROUTE_API_KEY if needed, that gateway is used instead.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from a2a_adapters_omniroute import OmniRouteA2A, OmniRouteClient, OmniRouteProviderError
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import PromptTemplate

from a2a_adapters import TaskMetadata, build_app
from a2a_adapters.testing import running

KEY = os.environ.get("OMNIROUTE_API_KEY", "")


async def model(request):
    """Stand in for a gateway's models, and report the cost of a call."""
    yield "def add(a, b): return a + b" if "Write" in request.text else "It is correct."
    cost = {"estimated": 0.002, "actual": 0.001, "currency": "USD"}
    yield TaskMetadata({"model": "writer-1", "cost_envelope": cost})


@asynccontextmanager
async def gateway() -> AsyncGenerator[str]:
    """Yield the address of a gateway."""
    if url := os.environ.get("OMNIROUTE_URL"):
        yield url
        return
    async with running(build_app(model, dialects=["omniroute"])) as url:
        yield url


async def main() -> None:
    async with gateway() as url:
        async with OmniRouteClient(url, api_key=KEY) as client:
            card = await client.discover()
            print(f"{card.name}: {', '.join(skill.id for skill in card.skills)}")

        llm = OmniRouteA2A(base_url=url, api_key=KEY)
        write = PromptTemplate.from_template("Write {what}, code only.") | llm.bind(role="coding")
        review = PromptTemplate.from_template("Review this:\n{code}") | llm.bind(role="review")
        try:
            code = await (write | StrOutputParser()).ainvoke({"what": "a function that adds"})
            verdict = await (review | StrOutputParser()).ainvoke({"code": code})
        except OmniRouteProviderError as error:
            raise SystemExit(f"{error} (again later: {error.retryable})") from error
        print(code, verdict, sep="\n")
        assert code
        assert verdict

        reports = [info(await llm.agenerate([text])) for text in ("Write a test.", "Review it.")]
        cost = sum(each.get("cost_envelope", {}).get("actual", 0) for each in reports)
        print(f"both calls cost ${cost:.4f}; {reports[0].get('routing_explanation')}")


def info(result) -> dict:
    """Return the gateway's information about a call."""
    return result.generations[0][0].generation_info


if __name__ == "__main__":
    asyncio.run(main())
