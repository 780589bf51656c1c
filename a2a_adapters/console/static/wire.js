// A2A 1.0 over JSON-RPC and server-sent events (sections 9 and 9.4), with every frame noted.
import { newId, Subject } from "./ui.js";

const MOST_FRAMES = 400;

/** The agent said no; `isPassing` if the same call may go well later. */
export class Refusal extends Error {
	constructor(error, status) {
		super(error?.message || `The agent answered HTTP ${status}.`);
		this.code = error?.code;
		// The relay tells so that its agent is away.
		this.isPassing = status >= 502 || error?.data?.[0]?.metadata?.connection === "lost";
	}
}

export class Frames extends Subject {
	list = [];

	add(frame) {
		this.list.push({ id: newId(), at: new Date(), ...frame });
		if (this.list.length > MOST_FRAMES) this.list.shift();
		this.changed();
	}
}

/** Calls one agent. `headers` returns what the user has typed; it is kept nowhere else. */
export class Wire {
	constructor(url, frames, headers) {
		Object.assign(this, { url, frames, headers });
	}

	card() {
		return this.#get(new URL(".well-known/agent-card.json", this.url), { cache: "no-cache" });
	}

	/** What `check` finds in the agent, the worst first. */
	async check(url) {
		return (await this.#get(url, { method: "POST" })).findings;
	}

	async call(method, params, signal) {
		for await (const result of this.stream(method, params, signal, "application/json")) return result;
	}

	/** Call a method and yield its results, one if the agent does not stream. */
	async *stream(method, params, signal, accept = "text/event-stream") {
		const call = { method, began: performance.now() };
		const body = { jsonrpc: "2.0", id: newId().slice(0, 8), method, params };
		this.frames.add({ call, way: "out", body, url: this.url });
		const extensions = params.message?.extensions?.join(", ");
		const response = await this.#fetch(this.url, {
			method: "POST",
			body: JSON.stringify(body),
			headers: {
				"Content-Type": "application/json",
				Accept: accept,
				"A2A-Version": "1.0",
				...(extensions && { "A2A-Extensions": extensions }),
			},
			signal,
		});
		const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
		for await (const data of isStream ? events(response.body) : [await lost(response.text())]) {
			yield this.#result(call, data, response.status);
		}
	}

	async #get(url, options) {
		const response = await this.#fetch(url, options);
		const body = await response.json().catch(() => ({}));
		if (!response.ok) throw new Refusal(body.error, response.status);
		return body;
	}

	#fetch(url, options) {
		const typed = Object.fromEntries(this.headers().map(({ name, value }) => [name, value]));
		const names = Object.keys(typed).join(", ");
		const headers = { ...typed, ...(names && { "Console-Forward": names }), ...options.headers };
		return lost(fetch(url, { ...options, headers, redirect: "error" }));
	}

	#result(call, data, status) {
		let body = null;
		try {
			body = JSON.parse(data);
		} catch {
			// It is told below that this is no answer.
		}
		this.frames.add({ call, way: "in", body: body ?? data, ms: performance.now() - call.began, status });
		if (!body || body.error || !("result" in body)) throw new Refusal(body?.error, status);
		return body.result;
	}
}

/** Yield the data of server-sent events (HTML, 9.2.6). */
async function* events(body) {
	const reader = body.pipeThrough(new TextDecoderStream()).getReader();
	let rest = "";
	let data = [];
	try {
		for (;;) {
			const { done, value } = await lost(reader.read());
			if (done) return;
			// A line may end in CR LF, whose halves may come apart.
			const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
			rest = lines.pop();
			for (const line of lines) {
				if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
				if (line || !data.length) continue;
				yield data.join("\n");
				data = [];
			}
		}
	} finally {
		reader.cancel().catch(() => {});
	}
}

/** Tell a lost connection from what else may go wrong. */
async function lost(reading) {
	try {
		return await reading;
	} catch (error) {
		if (error.name === "AbortError") throw error;
		throw Object.assign(new Error("The agent cannot be reached."), { isPassing: true });
	}
}
