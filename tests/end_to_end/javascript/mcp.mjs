// Uses an agent as the tool of MCP, as clients in JavaScript do: `node mcp.mjs 1|2 http URL` connects
// to the agent's port, `node mcp.mjs 1|2 stdio COMMAND...` starts a server of its own; 1 and 2 are
// the lines of the SDK.

import assert from "node:assert/strict";

const [line, kind, ...words] = process.argv.slice(2);
const sdk = line === "1" ? await first() : await second();

const transport =
  kind === "http"
    ? new sdk.StreamableHTTPClientTransport(new URL(words[0]))
    : new sdk.StdioClientTransport({ command: words[0], args: words.slice(1), env: process.env });

const client = new sdk.Client(
  { name: "check", version: "1" },
  { capabilities: { elicitation: {} }, versionNegotiation: { mode: "auto" } },
);
client.setRequestHandler(sdk.elicitation, async (request) => {
  assert.equal(request.params.message, "which city?");
  return { action: "accept", content: { answer: "Rome" } };
});
await client.connect(transport);

const { tools } = await client.listTools();
assert.deepEqual(tools.map((tool) => tool.name).sort(), ["book", "echo", "wait"]);

const echoed = await client.callTool({ name: "echo", arguments: { message: "hello" } });
assert.equal(echoed.content[0].text, "hello");

const told = [];
const booked = await call("book", "two", { onprogress: ({ message }) => told.push(message) });
assert.equal(booked.content[0].text, "booked Rome");
assert.equal(told[0], "looking for rooms");

const ending = new AbortController();
const onprogress = () => ending.abort("enough");
const waiting = call("wait", "x", { signal: ending.signal, onprogress });
await assert.rejects(waiting, /enough/);

const wrong = await client.callTool({ name: "echo", arguments: { nonsense: 1 } });
assert.equal(wrong.isError, true);
await client.close();

function call(name, message, options) {
  const params = { name, arguments: { message } };
  return line === "1"
    ? client.callTool(params, undefined, options)
    : client.callTool(params, options);
}

async function first() {
  const base = "@modelcontextprotocol/sdk";
  return {
    ...(await import(`${base}/client/index.js`)),
    ...(await import(`${base}/client/stdio.js`)),
    ...(await import(`${base}/client/streamableHttp.js`)),
    elicitation: (await import(`${base}/types.js`)).ElicitRequestSchema,
  };
}

async function second() {
  return {
    ...(await import("@modelcontextprotocol/client")),
    ...(await import("@modelcontextprotocol/client/stdio")),
    elicitation: "elicitation/create",
  };
}
