"""An MCP server of the official SDK, over stdio or, with a port, over streamable HTTP.

Port 0 picks a free port; the port is printed once the server listens.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import anyio
import uvicorn
from mcp.server.fastmcp import Context, FastMCP, Image
from mcp.server.fastmcp.prompts.base import AssistantMessage, UserMessage
from mcp.types import CallToolResult, ResourceLink, TextContent
from pydantic import BaseModel

FOLDER = Path(os.environ.get("MCP_TEST_FOLDER", "."))

server = FastMCP("Toolbox", instructions="Tools for tests.", log_level="ERROR")
said: dict[object, list[str]] = {}


class Weather(BaseModel):
    """A weather report."""

    city: str
    degrees: int


class Trip(BaseModel):
    """A destination and a number of nights."""

    city: str
    nights: int = 1


class Number(BaseModel):
    """A number."""

    number: int


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def weather(city: str, days: int) -> Weather:
    """Tells the weather."""
    return Weather(city=city, degrees=20 + days)


@server.tool()
async def remember(text: str, times: int, context: Context) -> str:
    """Repeats all texts of this session."""
    known = said.setdefault(id(context.session), [])
    known += [text] * times
    return " ".join(known)


@server.tool()
async def steps(count: int, context: Context) -> str:
    """Reports its progress."""
    for number in range(count):
        await context.report_progress(number + 1, count, f"step {number + 1}")
    return "done"


@server.tool()
def draw(kind: int) -> CallToolResult:
    """Returns the files."""
    link = ResourceLink(
        type="resource_link", uri="https://files.example/a.pdf", name="a.pdf", mimeType="x/pdf"
    )
    image = Image(data=b"png", format="png").to_image_content()
    return CallToolResult(content=[TextContent(type="text", text=f"{kind}"), image, link])


@server.tool()
def link(uri: str, times: int) -> CallToolResult:
    """Links to a resource."""
    found = ResourceLink(type="resource_link", uri=uri, name="notes.md", mimeType="text/markdown")
    return CallToolResult(content=[found] * times)


@server.resource("demo://notes/first", mime_type="text/markdown")
def notes() -> str:
    """The note."""
    return "# Notes"


@server.resource("demo://numbers/{number}", mime_type="application/octet-stream")
def numbers(number: int) -> bytes:
    """A number as a byte."""
    return bytes([number])


@server.prompt()
def greet(name: str, language: str = "English") -> str:
    """Greets a person."""
    return f"Greet {name} in {language}."


@server.prompt()
def practise() -> list[UserMessage | AssistantMessage]:
    """Shows how to greet."""
    return [UserMessage("Hello?"), AssistantMessage("Good day!")]


@server.tool()
async def trip(what: int, context: Context) -> str:
    """Asks for a trip with a form."""
    answer = await context.elicit(f"trip {what}: where to?", Trip)
    return f"{answer.action} {answer.data.model_dump_json() if answer.action == 'accept' else ''}"


@server.tool()
async def number(least: int, context: Context) -> str:
    """Asks for a number."""
    answer = await context.elicit("how many?", Number)
    return f"{least + answer.data.number}"


@server.tool()
async def grant(scope: int, context: Context) -> str:
    """Has the user open a page."""
    answer = await context.elicit_url("please sign in", "https://login.example/x", f"id-{scope}")
    return answer.action


@server.tool()
def complain(about: int) -> str:
    """Fails with a text for its caller."""
    raise ValueError(f"{about} is too large")


@server.tool()
def crash(code: int) -> str:
    """Ends the server."""
    os._exit(code)


@server.tool()
def variable(name: str, default: str) -> str:
    """Returns an environment variable."""
    return os.environ.get(name, default)


@server.tool()
def pid(unused: int = 0) -> int:
    """Returns the id of the server's process."""
    return os.getpid()


@server.tool()
async def wait(number: int) -> str:
    """Waits for ever; writes into FIFOs when it begins and when it is cancelled."""
    try:
        await anyio.to_thread.run_sync((FOLDER / "begun").write_text, str(number))
        await anyio.sleep_forever()
    finally:
        (FOLDER / "cancelled").write_text("yes")
    return ""


if __name__ == "__main__":
    if len(sys.argv) == 1:
        server.run("stdio")
    else:
        listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
        print(listener.getsockname()[1], flush=True)  # noqa: T201
        uvicorn.run(
            server.streamable_http_app(),
            fd=listener.fileno(),
            log_level="error",
            timeout_graceful_shutdown=1,  # clients that are leaving may have released it
        )
