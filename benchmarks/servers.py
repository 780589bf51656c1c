"""The compared servers, one function each: `python servers.py NAME AGENT PORT`.

Every server runs the same agents: `echo` repeats the text, `stream` answers with the number
of words given by the text, `talk` with the number of tokens, one every 20 ms, `sleep` (a LangChain
runnable) after 0.2 s in a blocking call. Ours runs those of `autogen_runs.py` and `tool_calls.py`,
too. Servers that store tasks find the database's URL in STORAGE.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import uvicorn


async def echo(text: str) -> str:
    """Repeat the text."""
    return text


async def stream(text: str) -> AsyncGenerator[str]:
    """Yield the requested number of words; let others run after each, as a model's client does."""
    for number in range(int(text)):
        yield f"word{number} "
        await asyncio.sleep(0)


TOKEN_SECONDS, SPREAD_SECONDS = 0.02, 2
"""The pause after a token of `talk`, and the time over which clients spread their starts."""


async def talk(text: str) -> AsyncGenerator[str]:
    """Say the requested number of tokens at the pace of a model; each is the time it was said."""
    began = time.monotonic()
    for number in range(int(text)):
        if (pause := began + number * TOKEN_SECONDS - time.monotonic()) > 0:
            await asyncio.sleep(pause)
        yield f"<{time.monotonic():.4f}>"


async def waiting(_text: str) -> AsyncGenerator[str]:
    """Yield one word, and nothing more."""
    yield "word0 "
    await asyncio.Event().wait()


async def asking(_text: str):
    """Ask, and wait for the answer."""
    from a2a_adapters import InputRequired

    yield InputRequired("Where to?")


async def outputs(text: str):
    """Yield the requested number of results."""
    from a2a_adapters import Output, Text

    for number in range(int(text)):
        yield Output([Text(f"result {number}")])


def ours(agent: str, options=None):
    from a2a_adapters import build_app

    return build_app(target_of(agent), options=options)


def target_of(agent: str):
    if agent == "sleep":
        return sleeping_runnable()
    if agent.startswith("autogen"):
        from autogen_runs import MAKERS

        return MAKERS[agent]
    if agent == "typed":
        return typed()
    agents = (echo, stream, talk, waiting, asking, outputs)
    return {each.__name__: each for each in agents}[agent]


def roomy(agent: str):
    from a2a_adapters import Limits, ServerOptions

    return ours(agent, ServerOptions(limits=Limits(runs=20_000)))


def tools(agent: str):
    """Return an MCP server as an agent, or an agent that is a tool as well."""
    from a2a_adapters_mcp import McpServer

    from a2a_adapters import build_app

    if agent == "echo":
        return build_app(echo, dialects=["mcp"])
    return build_app(McpServer([sys.executable, str(Path(__file__).with_name("tool_calls.py"))]))


def ours_with_tokens(agent: str):
    from load import TOKEN

    from a2a_adapters import BearerTokens, Limits, ServerOptions

    users = {f"token-of-user-{number}": f"user {number}" for number in range(1000)}
    tokens = BearerTokens({**users, TOKEN: "caller"})
    limits = Limits(requests_per_minute=1_000_000)  # the limit applies, but is not reached
    return ours(agent, ServerOptions(authentication=tokens, limits=limits))


def forgetful(agent: str):
    from a2a_adapters import Limits, ServerOptions

    return ours(agent, ServerOptions(limits=Limits(finished_tasks=0)))


def front_ends(agent: str):
    from a2a_adapters import build_app

    return build_app(target_of(agent), name=agent, dialects=["openai", "ag-ui"])


def typed():
    """Return an agent of Pydantic AI that streams."""
    from pydantic_ai import Agent, ModelRequest
    from pydantic_ai.models.function import FunctionModel

    async def words(messages, _info):
        request = messages[-1]
        assert isinstance(request, ModelRequest)
        async for word in stream(request.parts[-1].content):
            yield word

    return Agent(FunctionModel(stream_function=words), name="typed")


def ag_ui_adapter(_agent: str):
    """Pydantic AI's own endpoint of AG-UI."""
    from pydantic_ai.ui.ag_ui import AGUIAdapter
    from starlette.applications import Starlette
    from starlette.routing import Route

    served = typed()

    async def run(request):
        return await AGUIAdapter.dispatch_request(request, agent=served)

    return Starlette(routes=[Route("/ag-ui", run, methods=["POST"])])


def litellm_proxy(_agent: str):
    """The function as a provider of its own behind litellm's proxy."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # fetches no prices
    os.environ["LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"] = "true"
    import litellm
    from litellm.proxy import proxy_server
    from litellm.types.utils import GenericStreamingChunk

    class Words(litellm.CustomLLM):
        async def astreaming(self, *_arguments, messages, **_options):
            index = {"index": 0, "tool_use": None, "usage": None}
            async for word in stream(messages[-1]["content"]):
                yield GenericStreamingChunk(text=word, is_finished=False, finish_reason="", **index)
            yield GenericStreamingChunk(text="", is_finished=True, finish_reason="stop", **index)

    litellm.custom_provider_map = [{"provider": "words", "custom_handler": Words()}]
    litellm.utils.custom_llm_setup()
    models = [{"model_name": "stream", "litellm_params": {"model": "words/stream"}}]
    proxy_server.llm_router = litellm.Router(models)
    return proxy_server.app


def with_grpc(agent: str):
    from a2a_adapters import ServerOptions

    return ours(agent, ServerOptions(grpc_port=int(os.environ["GRPC_PORT"])))


def stored(agent: str):
    from a2a_adapters import ServerOptions

    return ours(agent, ServerOptions(storage=os.environ["STORAGE"]))


def pushing(agent: str):
    from a2a_adapters import OutboundPolicy, PushOptions, ServerOptions

    push = PushOptions(outbound=OutboundPolicy(allow_private=True))
    return ours(agent, ServerOptions(storage=os.environ["STORAGE"], push=push))


def sleeping_runnable():
    from langchain_core.runnables import RunnableLambda

    return RunnableLambda(lambda text: time.sleep(0.2) or text)


def crews(agent: str):
    from crews import make_crew

    from a2a_adapters import build_app

    return build_app(make_crew(0.2 if agent == "sleep" else 0))


def sdk_stored(agent: str):
    from contextlib import asynccontextmanager

    from a2a.server.cluster import VersionedDatabaseTaskStore
    from sqlalchemy.ext.asyncio import create_async_engine

    url = os.environ["STORAGE"].replace("postgresql:", "postgresql+psycopg:")
    store = VersionedDatabaseTaskStore(create_async_engine(url, pool_size=10))

    @asynccontextmanager
    async def lifespan(_app):
        await store.initialize()
        yield

    return sdk(agent, store, lifespan)


def sdk_grpc(agent: str):
    from contextlib import asynccontextmanager

    import grpc.aio
    from a2a.server.request_handlers import GrpcHandler
    from a2a.server.tasks import InMemoryTaskStore
    from a2a.types.a2a_pb2_grpc import add_A2AServiceServicer_to_server

    @asynccontextmanager
    async def lifespan(_app):
        server = grpc.aio.server()
        handler = sdk_handler(agent, InMemoryTaskStore())
        add_A2AServiceServicer_to_server(GrpcHandler(handler), server)
        server.add_insecure_port(f"127.0.0.1:{os.environ['GRPC_PORT']}")
        await server.start()
        yield
        await server.stop(None)

    return sdk(agent, lifespan=lifespan)


def sdk(agent: str, task_store=None, lifespan=None):
    """a2a-sdk as its documentation shows it: the default handler and the JSON-RPC routes."""
    from a2a.server.routes import create_jsonrpc_routes
    from a2a.server.tasks import InMemoryTaskStore
    from starlette.applications import Starlette

    handler = sdk_handler(agent, task_store or InMemoryTaskStore())
    return Starlette(routes=create_jsonrpc_routes(handler, "/"), lifespan=lifespan)


def sdk_handler(agent: str, task_store):
    from a2a.helpers import new_task_from_user_message
    from a2a.server.agent_execution import AgentExecutor
    from a2a.server.request_handlers import DefaultRequestHandler
    from a2a.server.tasks import TaskUpdater
    from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part

    class Executor(AgentExecutor):
        async def execute(self, context, event_queue):
            task = new_task_from_user_message(context.message)
            task.id, task.context_id = context.task_id, context.context_id
            await event_queue.enqueue_event(task)
            updater = TaskUpdater(event_queue, task.id, task.context_id)
            text = context.get_user_input()
            if agent == "echo":
                await updater.add_artifact([Part(text=await echo(text))], artifact_id="answer")
            else:
                append = False
                async for word in target_of(agent)(text):
                    parts = [Part(text=word)]
                    await updater.add_artifact(parts, artifact_id="answer", append=append)
                    append = True
            await updater.complete()

        async def cancel(self, context, event_queue):
            raise NotImplementedError

    url = "http://127.0.0.1/"
    card = AgentCard(
        name=agent,
        description="An agent under measurement.",
        version="1.0.0",
        supported_interfaces=[AgentInterface(url=url, protocol_binding="JSONRPC")],
        skills=[AgentSkill(id=agent, name=agent, description=agent, tags=[agent])],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
    )
    return DefaultRequestHandler(Executor(), task_store, card)


def a2a_adapter(agent: str):
    from a2a_adapter import CallableAdapter, to_a2a

    async def answer(inputs: dict) -> str:
        return await echo(inputs["message"])

    async def words(inputs: dict) -> AsyncGenerator[str]:
        async for word in target_of(agent)(inputs["message"]):
            yield word

    if agent == "echo":
        return to_a2a(CallableAdapter(answer, name=agent))
    return to_a2a(CallableAdapter(words, streaming=True, name=agent))


def fasta2a(agent: str):
    from contextlib import asynccontextmanager

    from fasta2a import FastA2A, Worker
    from fasta2a.broker import InMemoryBroker
    from fasta2a.storage import InMemoryStorage

    class EchoWorker(Worker):
        async def run_task(self, params):
            task, context, text = params["id"], params["context_id"], read(params)
            await self.storage.update_task(task, state="working")
            answer = await echo(text) if agent == "echo" else ""
            if agent != "echo":
                async for word in target_of(agent)(text):
                    chunk = artifact(word)
                    await self.publish_artifact(task, context, chunk, append=True, last_chunk=False)
                    answer += word
            done = [artifact(answer)]
            await self.storage.update_task(task, state="completed", new_artifacts=done)

        async def cancel_task(self, params):
            raise NotImplementedError

        def build_message_history(self, history):
            return history

        def build_artifacts(self, result):
            return [artifact(result)]

    def read(params) -> str:
        return params["message"]["parts"][0]["text"]

    def artifact(text: str) -> dict:
        return {"artifact_id": "answer", "parts": [{"text": text}]}

    @asynccontextmanager
    async def lifespan(app):
        async with app.task_manager, worker.run():
            yield

    storage, broker = InMemoryStorage(), InMemoryBroker()
    worker = EchoWorker(storage=storage, broker=broker)
    return FastA2A(storage=storage, broker=broker, lifespan=lifespan)


def starlette(agent: str):
    """No protocol: parse the request, and send the JSON that an A2A server sends."""
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse, StreamingResponse
    from starlette.routing import Route

    async def answer(request):
        call = json.loads(await request.body())
        message = call["params"]["message"]
        text = message["parts"][0]["text"]
        if agent == "echo":
            return JSONResponse(result(call["id"], task=finished(message, await echo(text))))
        return StreamingResponse(events(call["id"], text), media_type="text/event-stream")

    async def events(request_id, text):
        status = {"state": "TASK_STATE_WORKING", "timestamp": TIME}
        yield event(request_id, task={**IDS, "status": status})
        ids = {"taskId": TASK, "contextId": CONTEXT}
        async for word in target_of(agent)(text):
            chunk = {"artifactId": "answer", "parts": [{"text": word}]}
            yield event(request_id, artifactUpdate={**ids, "artifact": chunk, "append": True})
        status = {"state": "TASK_STATE_COMPLETED", "timestamp": TIME}
        yield event(request_id, statusUpdate={**ids, "status": status})

    def finished(message, text):
        return {
            **IDS,
            "status": {"state": "TASK_STATE_COMPLETED", "timestamp": TIME},
            "artifacts": [{"artifactId": "answer", "parts": [{"text": text}]}],
            "history": [{**message, "taskId": TASK, "contextId": CONTEXT}],
        }

    def result(request_id, **payload):
        return {"jsonrpc": "2.0", "id": request_id, "result": payload}

    def event(request_id, **payload) -> str:
        return f"data: {json.dumps(result(request_id, **payload))}\n\n"

    return Starlette(routes=[Route("/", answer, methods=["POST"])])


TASK = "6f1c1a4e-5f0e-4f63-9a63-0d4f3d0a7b11"
CONTEXT = "0b5f8a52-7d6c-4c1b-8b0e-5a6f1d2c3e44"
IDS = {"id": TASK, "contextId": CONTEXT}
TIME = "2025-01-01T00:00:00.000000Z"

SERVERS = {
    "ours": ours,
    "autogen": ours,
    "front ends": front_ends,
    "pydantic-ai": front_ends,
    "pydantic-ai's": ag_ui_adapter,
    "litellm": litellm_proxy,
    "tokens": ours_with_tokens,
    "forgetful": forgetful,
    "roomy": roomy,
    "grpc": with_grpc,
    "sdk-grpc": sdk_grpc,
    "stored": stored,
    "pushing": pushing,
    "sdk-stored": sdk_stored,
    "crews": crews,
    "tools": tools,
    "sdk": sdk,
    "a2a-adapter": a2a_adapter,
    "fasta2a": fasta2a,
    "starlette": starlette,
}


def serving(agent: str, port: int) -> None:
    """With its defaults, as users run it."""
    from a2a_adapters import Limits, ServerOptions, serve

    serve(target_of(agent), port=port, options=ServerOptions(limits=Limits(runs=2000)))


def every_api(agent: str, port: int) -> None:
    from a2a_adapters import ServerOptions, serve

    options = ServerOptions(grpc_port=int(os.environ["GRPC_PORT"]))
    name = "stream"  # the model that `front_ends.py` asks for
    serve(target_of(agent), name=name, port=port, options=options, dialects=["openai", "ag-ui"])


def two_processes(agent: str, port: int) -> None:
    command = str(Path(sys.executable).with_name("a2a-adapters"))
    os.chdir(Path(__file__).parent)
    options = ["--port", str(port), "--workers", "2", "--storage", os.environ["STORAGE"]]
    os.execv(command, [command, "serve", f"servers:{agent}", *options])


SERVING = {"serve": serving, "every API": every_api, "two processes": two_processes}


def main(name: str, agent: str, port: str) -> None:
    if name in SERVING:
        SERVING[name](agent, int(port))
        return
    app = SERVERS[name](agent)
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(port),
        loop="uvloop",
        http="httptools",
        log_level="warning",
        access_log=False,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
