// A2A 1.0 over JSON-RPC and server-sent events (sections 9 and 9.4), with every frame noted.
import { newId, Subject } from "./ui.js";

const MOST_FRAMES = 400;
const UNREACHABLE = -32000;

/** The agent said no. */
export class RpcError extends Error {
  constructor({ code, message, data }, status = 200) {
    super(message || "The agent refused, and said no more.");
    Object.assign(this, { code, data, status });
  }

  /** Whether the same call may go well later. */
  get isPassing() {
    return this.status >= 502 || (this.status === 200 && this.code === UNREACHABLE);
  }
}

/** The connection was lost, or there was none. */
export class LostError extends Error {
  isPassing = true;
}

/** What went to the agents and what came back, as it was. */
export class Frames extends Subject {
  list = [];
  count = 0;

  add(frame) {
    this.list.push({ id: ++this.count, at: new Date(), ...frame });
    if (this.list.length > MOST_FRAMES) this.list.shift();
    this.changed();
  }
}

/** Calls one agent. `headers` returns what the user has typed; it is kept nowhere else. */
export class Wire {
  constructor(url, frames, headers) {
    Object.assign(this, { url, frames, headers });
  }

  /** The card, as it is served. */
  async card() {
    const url = new URL(".well-known/agent-card.json", this.url);
    const response = await this.#fetch(url, { headers: this.#typed(), cache: "no-cache" });
    if (!response.ok) throw await refusal(response);
    return response.json();
  }

  /** Call a method and return its result. */
  async call(method, params, signal) {
    const { call, response } = await this.#send(method, params, signal, "application/json");
    return this.#result(call, await read(response), response.status);
  }

  /** Call a method and yield its results, one if the agent does not stream. */
  async *stream(method, params, signal) {
    const { call, response } = await this.#send(method, params, signal, "text/event-stream");
    if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
      yield this.#result(call, await read(response), response.status);
      return;
    }
    for await (const data of events(response.body)) {
      let body;
      try {
        body = JSON.parse(data);
      } catch {
        throw new Error("An event of the stream is not JSON.");
      }
      yield this.#result(call, body, response.status);
    }
  }

  async #send(method, params, signal, accept) {
    const call = { id: newId().slice(0, 8), method, began: performance.now() };
    const body = { jsonrpc: "2.0", id: call.id, method, params };
    this.frames.add({ call, way: "out", body, url: this.url });
    const response = await this.#fetch(this.url, {
      method: "POST",
      body: JSON.stringify(body),
      headers: {
        ...this.#typed(),
        "Content-Type": "application/json",
        Accept: accept,
        "A2A-Version": "1.0",
        ...(params.message?.extensions && { "A2A-Extensions": params.message.extensions.join(", ") }),
      },
      signal,
    });
    return { call, response };
  }

  async #fetch(url, options) {
    try {
      return await fetch(url, { ...options, credentials: "same-origin", redirect: "error" });
    } catch (error) {
      if (options.signal?.aborted) throw error;
      throw new LostError("The agent cannot be reached.");
    }
  }

  #typed() {
    const typed = Object.fromEntries(this.headers().map(({ name, value }) => [name, value]));
    const names = Object.keys(typed);
    return names.length ? { ...typed, "Console-Forward": names.join(", ") } : {};
  }

  #result(call, body, status) {
    const ms = performance.now() - call.began;
    this.frames.add({ call, way: "in", body, ms, status });
    if (body?.error) throw new RpcError(body.error, status);
    if (!body || typeof body !== "object" || !("result" in body)) {
      throw new Error(`The answer (HTTP ${status}) is no response of JSON-RPC.`);
    }
    return body.result;
  }
}

async function read(response) {
  const text = await lost(response.text());
  try {
    return JSON.parse(text);
  } catch {
    throw new RpcError({ message: `The agent answered HTTP ${response.status}.` }, response.status);
  }
}

async function refusal(response) {
  const body = await response.json().catch(() => ({}));
  const message = body.error?.message ?? `The agent answered HTTP ${response.status}.`;
  return new RpcError({ code: body.error?.code, message }, response.status);
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
        if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
        else if (line === "" && data.length) {
          yield data.join("\n");
          data = [];
        }
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

async function lost(reading) {
  try {
    return await reading;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new LostError("The connection was lost.");
  }
}
