// Uses an agent as the tool of MCP, as clients in JavaScript do: `node mcp.mjs http URL` connects to
// the agent's port, `node mcp.mjs stdio COMMAND...` starts a server of its own.

import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [kind, ...words] = process.argv.slice(2);
const transport =
  kind === "http"
    ? new StreamableHTTPClientTransport(new URL(words[0]))
    : new StdioClientTransport({ command: words[0], args: words.slice(1), env: process.env });

const client = new Client({ name: "check", version: "1" }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  assert.equal(request.params.message, "which city?");
  return { action: "accept", content: { answer: "Rome" } };
});
await client.connect(transport);

const { tools } = await client.listTools();
assert.deepEqual(tools.map((tool) => tool.name).sort(), ["book", "echo", "wait"]);

const echoed = await client.callTool({ name: "echo", arguments: { message: "hello" } });
assert.equal(echoed.content[0].text, "hello");

const told = [];
const booked = await client.callTool({ name: "book", arguments: { message: "two" } }, undefined, {
  onprogress: (progress) => told.push(progress.message),
});
assert.equal(booked.content[0].text, "booked Rome");
assert.deepEqual(told, ["looking for rooms"]);

const ending = new AbortController();
const waiting = client.callTool({ name: "wait", arguments: { message: "x" } }, undefined, {
  signal: ending.signal,
  onprogress: () => ending.abort("enough"),
});
await assert.rejects(waiting, /enough/);

const wrong = await client.callTool({ name: "echo", arguments: { nonsense: 1 } });
assert.equal(wrong.isError, true);
await client.close();
