// A2A 1.0 over JSON-RPC (section 9), with every frame noted.
import { changed, newId } from "./ui.js";
import { EventSourceParserStream } from "./vendor/eventsource.js";

const MOST_FRAMES = 400;

/** The agent said no; `isPassing` if the same call may go well later. */
function refusal(error, status) {
	// The relay tells so that its agent is away.
	const isPassing = status >= 502 || error?.data?.[0]?.metadata?.connection === "lost";
	return Object.assign(new Error(error?.message || `The agent answered HTTP ${status}.`), { code: error?.code, isPassing });
}

/** Calls the agent of a session, with the headers that were typed for it. */
export class Wire {
	constructor(session, frames) {
		Object.assign(this, { session, frames });
	}

	async call(...call) {
		for await (const result of this.stream(...call)) return result;
	}

	/** Yield the results of a call, one if the agent does not stream. */
	async *stream(method, params, signal, trace) {
		const { session } = this;
		const call = { method, began: performance.now(), traceId: trace?.id };
		const body = { jsonrpc: "2.0", id: newId().slice(0, 8), method, params };
		const headers = { "Content-Type": "application/json", "A2A-Version": "1.0", "A2A-Extensions": params.message?.extensions ?? [] };
		this.#note({ call, body, session, headers });
		const response = await this.#fetch(session.url, { method: "POST", body: JSON.stringify(body), headers, signal }, trace);
		const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
		for await (const data of isStream ? events(response.body) : [await lost(response.text())]) {
			yield this.#result(call, data, response.status);
		}
	}

	#note(frame) {
		this.frames.push({ id: newId(), at: new Date(), ...frame });
		if (this.frames.length > MOST_FRAMES) this.frames.shift();
		changed();
	}

	async get(url, options) {
		const response = await this.#fetch(url, options);
		const body = await response.json().catch(() => ({}));
		if (!response.ok) throw refusal(body.error, response.status);
		return body;
	}

	#fetch(url, options, trace) {
		// A copied call does not have the trace's header: it is a trace of its own.
		const typed = { ...this.session.headers, ...(trace && { traceparent: trace.header }) };
		const headers = { ...typed, "Console-Forward": Object.keys(typed).join(", "), ...options.headers };
		return lost(fetch(url, { ...options, headers, redirect: "error" }));
	}

	#result(call, data, status) {
		let body = data; // what is no JSON is no answer
		try {
			body = JSON.parse(data);
		} catch {}
		this.#note({ call, body: body ?? data, ms: performance.now() - call.began, status });
		if (!body?.result) throw refusal(body?.error, status);
		return body.result;
	}
}

async function* events(body) {
	const reader = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader();
	try {
		for (;;) {
			const { done, value } = await lost(reader.read());
			if (done) return;
			yield value.data;
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
