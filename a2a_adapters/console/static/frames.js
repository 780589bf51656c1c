// What went over the wire, and how to say it again elsewhere.
import { clock, Copy, html, span, useChanges, useState } from "./ui.js";
import { shown } from "./text.js";
import { textOf } from "./turn.js";

const MOST_SHOWN = 100_000;

export function FramesView({ frames, sessions }) {
  useChanges(frames);
  const [word, setWord] = useState("");
  const list = frames.list.filter(({ call, body }) => !word || call.method.includes(word) || JSON.stringify(body).includes(word));
  const clear = () => {
    frames.list = [];
    frames.changed();
  };
  return html`<div class="panel frames">
    <div class="filters">
      <input type="search" aria-label="Find in frames" placeholder="Find" value=${word} onInput=${(event) => setWord(event.target.value)} />
      <button type="button" class="small" onClick=${clear}>Clear</button>
    </div>
    ${!list.length && html`<p class="hint">No frames.</p>`}
    <ol>${list.map((frame) => html`<${Frame} key=${frame.id} frame=${frame} session=${sessions.find(({ url }) => url === frame.url)} />`)}</ol>
  </div>`;
}

function Frame({ frame, session }) {
  const [isOpen, setIsOpen] = useState(false);
  const { way, body, call, at, ms, status } = frame;
  const isBad = Boolean(body?.error);
  return html`<li class="frame ${way} ${isBad ? "bad" : ""}">
    <details onToggle=${(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        <span class="way" aria-label=${way === "out" ? "sent" : "received"}>${way === "out" ? "→" : "←"}</span>
        <span class="kind">${shown(way === "out" ? call.method : kind(body))}</span>
        <small>${ms === undefined ? "" : `+${span(ms)}`} ${status && status !== 200 ? `HTTP ${status}` : ""}</small>
        <time>${clock(at)}</time>
      </summary>
      ${isOpen && html`<${Body} frame=${frame} session=${session} />`}
    </details>
  </li>`;
}

function Body({ frame, session }) {
  const text = JSON.stringify(frame.body, null, 2);
  return html`<p class="copies">
      <${Copy} label="Copy" text=${() => text} />
      ${frame.way === "out" && session && html`
        <${Copy} label="Copy as curl" text=${() => asCurl(frame, session)} />
        <${Copy} label="Copy as Python" text=${() => asPython(frame, session)} />`}
    </p>
    <pre class="json">${shown(text.slice(0, MOST_SHOWN))}${text.length > MOST_SHOWN && " …"}</pre>`;
}

function kind(body) {
  if (body?.error) return `error ${body.error.code}`;
  const result = body?.result ?? {};
  if (result.statusUpdate) return `status ${result.statusUpdate.status?.state?.replace("TASK_STATE_", "").toLowerCase()}`;
  if (result.artifactUpdate) return "artifact";
  return ["task", "message", "tasks"].find((name) => name in result) ?? "result";
}

/** The address that others use: the card's own for JSON-RPC of A2A 1.0, else the one used here. */
function address(session) {
  const all = session.card?.supportedInterfaces ?? [];
  const own = all.find((each) => each.protocolBinding === "JSONRPC" && /^1\./.test(each.protocolVersion));
  return String((session.agent.url && own?.url) || session.url);
}

const quote = (text) => `'${String(text).replaceAll("'", `'\\''`)}'`;

/** Secrets stay here: what was typed is named as a variable of the shell. */
function asCurl(frame, session) {
  const { method, params } = frame.body;
  const isStream = method === "SendStreamingMessage" || method === "SubscribeToTask";
  const secrets = session.wire.headers().map(({ name }) => `-H "${name.replace(/[^\w-]/g, "")}: $${variable(name)}"`);
  const extensions = params.message?.extensions?.join(", ");
  return [
    `curl ${isStream ? "-N " : ""}${quote(address(session))}`,
    "-H 'Content-Type: application/json'",
    "-H 'A2A-Version: 1.0'",
    ...(extensions ? [`-H ${quote(`A2A-Extensions: ${extensions}`)}`] : []),
    ...secrets,
    `-d ${quote(JSON.stringify(frame.body))}`,
  ].join(" \\\n  ");
}

const variable = (name) => name.toUpperCase().replace(/\W+/g, "_");

/** JSON's strings are Python's, but for characters beyond the first plane, which need no escape. */
const python = (value) => JSON.stringify(value);

function asPython(frame, session) {
  const { method, params } = frame.body;
  const at = python(session.agent.url || session.url);
  const [header] = session.wire.headers();
  const auth = header ? `, auth=ApiKeyAuth(os.environ[${python(variable(header.name))}], ${python(header.name)})` : "";
  const names = header ? "ApiKeyAuth, RemoteAgent" : "RemoteAgent";
  const start = [...(header ? ["import os", ""] : []), `from a2a_adapters import ${names}`, "", `agent = RemoteAgent(${at}${auth})`];
  const task = `reply = agent.${method === "CancelTask" ? "cancel" : "get_task"}_sync(${python(params.id)})`;
  if (!params.message) return [...start, task, "print(reply.text)", ""].join("\n");
  const { contextId, taskId, parts } = params.message;
  const more = [contextId && `context_id=${python(contextId)}`, taskId && `task_id=${python(taskId)}`].filter(Boolean);
  const given = [python(textOf(parts)), ...more].join(", ");
  return [...start, `reply = agent.send_sync(${given})`, "print(reply.text)", ""].join("\n");
}
