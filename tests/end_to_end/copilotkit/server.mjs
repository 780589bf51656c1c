// The page, and CopilotKit's runtime in front of an agent: node server.mjs URL_OF_AGENT
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { HttpAgent } from "@ag-ui/client";
import { CopilotRuntime } from "@copilotkit/runtime/v2";
import { createCopilotNodeListener } from "@copilotkit/runtime/v2/node";

const travel = new HttpAgent({ url: process.argv[2] });
const runtime = new CopilotRuntime({ agents: { default: travel }, a2ui: {} });
const answer = createCopilotNodeListener({ runtime, basePath: "/api/copilotkit" });
const FILES = {
	"/": ["text/html", "page.html"],
	"/page.js": ["text/javascript", "page.js"],
	"/page.css": ["text/css", "page.css"],
};

const server = createServer(async (request, response) => {
	const [type, name] = FILES[request.url] ?? [];
	if (!name) return answer(request, response);
	response.setHeader("Content-Type", type);
	response.end(await readFile(name));
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
