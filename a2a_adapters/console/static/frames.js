// What went over the wire, and how to say it again elsewhere.
import { Copy, html, span, useChanges, useState } from "./ui.js";
import { shown } from "./text.js";
import { textOf } from "./turn.js";

const MOST_SHOWN = 100_000;

export function FramesView({ frames, sessions }) {
	useChanges(frames);
	return html`<div class="panel">
		<ol>${frames.list.map((frame) => html`<${Frame} key=${frame.id} frame=${frame} session=${sessions.find(({ url }) => url === frame.url)} />`)}</ol>
	</div>`;
}

function Frame({ frame, session }) {
	const [isOpen, setIsOpen] = useState(false);
	const { body, call, at, ms, status } = frame;
	const text = isOpen && JSON.stringify(body, null, 2);
	return html`<li class="frame"><details onToggle=${(event) => setIsOpen(event.currentTarget.open)}>
		<summary>
			${session ? html`<b aria-label="sent">→</b>` : html`<b class="in" aria-label="received">←</b>`}
			<span class="line ${body?.error ? "bad" : ""}">${shown(session ? call.method : kind(body))}</span>
			<small>${ms >= 0 && `+${span(ms)}`} ${status > 200 && `HTTP ${status}`} <time>${at.toISOString().slice(11, 23)}</time></small>
		</summary>
		${isOpen && html`<p class="buttons">
			<${Copy} label="Copy" text=${() => text} />
			${session && html`<${Copy} label="Copy as curl" text=${() => asCurl(body, session)} /><${Copy} label="Copy as Python" text=${() => asPython(body, session)} />`}
		</p>
		<pre>${shown(text.slice(0, MOST_SHOWN))}</pre>`}
	</details></li>`;
}

function kind({ error, result }) {
	if (error) return `error ${error.code}`;
	const state = result?.statusUpdate?.status?.state;
	if (state) return `status ${String(state).slice(11).toLowerCase()}`;
	return ["artifactUpdate", "task", "message"].find((name) => result?.[name]) ?? "result";
}

/** Secrets stay here: what was typed is named as a variable of the shell. */
const variable = (name) => name.toUpperCase().replace(/\W+/g, "_");
const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

function asCurl(body, session) {
	// The relay's own address is nobody else's.
	const others = session.agent.url ? (session.card?.supportedInterfaces ?? []) : [];
	const own = others.find((each) => each.protocolBinding === "JSONRPC" && each.protocolVersion === "1.0");
	const extensions = body.params.message?.extensions ?? [];
	const headers = ["Content-Type: application/json", "A2A-Version: 1.0", ...extensions.map((uri) => `A2A-Extensions: ${uri}`)];
	const url = new URL(URL.canParse(own?.url) ? own.url : session.url);
	// A card may name anybody's server.
	const typed = [session.origin, location.origin].includes(url.origin) ? session.headers : [];
	const secrets = typed.map(({ name }) => `-H "${name}: $${variable(name)}"`);
	return [`curl -N ${quote(url.href)}`, ...headers.map((each) => `-H ${quote(each)}`), ...secrets, `-d ${quote(JSON.stringify(body))}`].join(" \\\n  ");
}

function asPython({ method, params: { id, message } }, session) {
	const say = JSON.stringify; // JSON's strings are Python's
	const [header] = session.headers;
	const key = header && `, auth=ApiKeyAuth(os.environ[${say(variable(header.name))}], ${say(header.name)})`;
	const { contextId, taskId, parts } = message ?? {};
	const more = `${contextId ? `, context_id=${say(contextId)}` : ""}${taskId ? `, task_id=${say(taskId)}` : ""}`;
	const call = message ? `send_sync(${say(textOf(parts))}${more})` : `${method === "CancelTask" ? "cancel" : "get_task"}_sync(${say(id)})`;
	return `${key ? "import os\n\n" : ""}from a2a_adapters import ${key ? "ApiKeyAuth, " : ""}RemoteAgent

agent = RemoteAgent(${say(session.agent.url || session.url)}${key ?? ""})
print(agent.${call}.text)
`;
}
