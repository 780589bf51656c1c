// Vercel's AI SDK, over either of OpenAI's APIs: node vercel.mjs chat|responses BASE_URL
import assert from "node:assert/strict";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";

const [api, baseURL] = process.argv.slice(2);
const agents =
	api === "chat"
		? createOpenAICompatible({ name: "agents", baseURL, apiKey: "none" })
		: createOpenAI({ baseURL, apiKey: "none" });
const quiet = { onError: () => {}, maxRetries: 0 };

const asked = await generateText({ model: agents("travel"), prompt: "A trip, please." });
assert.equal(asked.text, "Which city?");

const messages = [
	{ role: "user", content: "A trip, please." },
	...asked.response.messages,
	{ role: "user", content: "Rome" },
];
const stream = streamText({ model: agents("travel"), messages, ...quiet });
let text = "";
let reasoning = "";
for await (const part of stream.fullStream) {
	if (part.type === "text-delta") text += part.text;
	if (part.type === "reasoning-delta") reasoning += part.text;
	assert.notEqual(part.type, "error", JSON.stringify(part.error));
}
assert.equal(text, "A week in Rome: arrive on Monday, leave on Sunday. ");
assert.equal(reasoning, "Looking up Rome\n");
assert.equal(await stream.finishReason, "stop");

await assert.rejects(
	generateText({ model: agents("nobody"), prompt: "x", maxRetries: 0 }),
	/does not exist; this server has: travel/,
);

const errors = [];
const failing = streamText({
	model: agents("broken"),
	prompt: "x",
	maxRetries: 2,
	onError: ({ error }) => errors.push(error),
});
for await (const _ of failing.textStream);
assert.equal(errors.length, 1);
assert.match(errors[0].message ?? JSON.stringify(errors[0]), /the printer is on fire/);
