// Talks to agents behind the dialect ag-ui: ag_ui.mjs PACKAGE URL
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

const [, , name, url] = process.argv;
const { HttpAgent } = await import(name);

const agentOf = (options = {}) => new HttpAgent({ url, threadId: randomUUID(), ...options });
const say = (agent, content) => agent.addMessage({ id: randomUUID(), role: "user", content });

async function run(agent, options = {}) {
  const heard = { events: [], text: "", error: undefined, outcome: undefined };
  const subscriber = {
    onEvent: ({ event }) => void heard.events.push(event.type),
    onTextMessageContentEvent: ({ event }) => void (heard.text += event.delta),
    onRunErrorEvent: ({ event }) => void (heard.error = event),
    onRunFinishedEvent: ({ event }) => void (heard.outcome = event.outcome),
  };
  try {
    heard.result = (await agent.runAgent(options, subscriber)).result;
  } catch (error) {
    heard.thrown = error;
  }
  return heard;
}

async function ask(text, options = {}) {
  const agent = agentOf(options.agent);
  say(agent, text);
  return [agent, await run(agent, options.run)];
}

// Text, and a conversation
let [agent, heard] = await ask("hello");
assert.equal(heard.text, "worked on hello");
assert.deepEqual(agent.messages.map((message) => message.role), ["user", "assistant"]);
say(agent, "more");
assert.equal((await run(agent)).text, "worked on more");

// Reasoning and tools
[agent, heard] = await ask("TOOL");
assert.equal(heard.text, "beforeafter");
assert.ok(heard.events.includes("REASONING_MESSAGE_CONTENT"));
const calls = agent.messages.flatMap((message) => message.toolCalls ?? []);
assert.deepEqual(calls.map((call) => [call.function.name, call.function.arguments]), [
  ["add", '{"a":2}'],
  ["wait", "{}"],
]);
const results = agent.messages.filter((message) => message.role === "tool");
assert.deepEqual(results.map((message) => message.content), ["5", ""]);
say(agent, "hello");
assert.equal((await run(agent)).text, "worked on hello");

// Shared state
[agent, heard] = await ask("STATE", { agent: { initialState: { n: 0 } } });
assert.deepEqual(agent.state, { n: 2, "a/b": null });

// Data
[agent, heard] = await ask("PARTS");
assert.deepEqual(heard.result, { a: 1 });

// Usage
[agent, heard] = await ask("COUNT");
assert.equal(heard.outcome.type, "success");

// A question and its answer
[agent, heard] = await ask("ASK");
const [interrupt] = agent.pendingInterrupts;
assert.equal(interrupt.message, "Which city?");
const resume = [{ interruptId: interrupt.id, status: "resolved", payload: "Rome" }];
assert.equal((await run(agent, { resume })).text, "took Rome");
assert.deepEqual(agent.pendingInterrupts, []);
assert.deepEqual(agent.messages.map((message) => message.content), [
  "ASK",
  "Well. \nWhich city?",
  "took Rome",
]);

// A tool of the front end
const tools = [{ name: "paint", description: "Paints.", parameters: { type: "object" } }];
[agent, heard] = await ask("FRONT", { run: { tools } });
const [call] = agent.messages.at(-1).toolCalls;
assert.deepEqual([call.function.name, call.function.arguments], ["paint", '{"colour":"red"}']);
agent.addMessage({ id: randomUUID(), role: "tool", toolCallId: call.id, content: "done" });
assert.equal((await run(agent, { tools })).text, "painted: done");

// A run that is sent again
[agent, heard] = await ask("hello", { run: { runId: "again" } });
await run(agent, { runId: "again" });
assert.deepEqual(agent.messages.map((message) => message.content), ["hello", "worked on hello"]);

// Refusals name their reason
for (const [text, code] of [["REJECT", "rejected"], ["BOOM", "failed"]]) {
  [agent, heard] = await ask(text);
  assert.equal(heard.error.code, code);
}
[agent, heard] = await ask("REJECT");
assert.equal(heard.error.message, "not my job");
[agent, heard] = await ask("hello", { agent: { url: `${url}/nothing` } });
assert.match(String(heard.thrown), /HTTP 404/);
