// What went over the wire, and how to say it again elsewhere.
import { Copy, html, span, useState } from "./ui.js";
import { isObject, Plain, shown } from "./text.js";

export function Frames({ frames }) {
	return html`<ol>${frames.map((frame) => html`<${Frame} key=${frame.id} ...${frame} />`)}</ol>`;
}

function Frame({ body, call, session, headers, at, ms, status }) {
	const [isOpen, setIsOpen] = useState(false);
	return html`<li class="frame"><details onToggle=${(event) => setIsOpen(event.currentTarget.open)}>
		<summary>
			<b aria-label=${session ? "sent" : "received"}>${session ? "→" : "←"}</b>
			<span class="line ${body.error ? "bad" : ""}">${shown(session ? call.method : kind(body))}</span>
			<small>${ms >= 0 && `+${span(ms)}`} ${status > 200 && `HTTP ${status}`} <time>${at.toISOString().slice(11, 23)}</time></small>
		</summary>
		${isOpen && html`<div class="buttons">
			${session && ["curl", "Python"].map((kind) => html`<${Copy} label="Copy as ${kind}" text=${() => commands(body, headers, session)[kind]} />`)}
			<${Copy} label="Copy JSON" text=${() => JSON.stringify(body, null, 2)} />
			${session && call.traceId && html`<${Copy} label="Copy trace id" text=${() => call.traceId} />`}
		</div>
		<${Plain} text=${JSON.stringify(body, null, 2)} />`}
	</details></li>`;
}

function kind({ error, result }) {
	if (error) return `error ${error.code}`;
	const [name, { status }] = Object.entries(result ?? {}).find(([, value]) => isObject(value)) ?? ["result", {}];
	return `${name} ${status?.state ?? ""}`;
}

/** A call as others make it. Secrets stay here: what was typed is named as a variable of the shell. */
function commands(body, headers, { agent, card, url, origin, headers: typed }) {
	// The relay's own address is nobody else's.
	const others = agent.url ? (card?.supportedInterfaces ?? []) : [];
	const own = others.find((each) => each.protocolBinding === "JSONRPC" && each.protocolVersion === "1.0");
	const target = URL.parse(own?.url) ?? new URL(url);
	// A card may name anybody's server.
	const names = [origin, location.origin].includes(target.origin) ? Object.keys(typed) : [];
	const secrets = names.map((name) => [name, name.toUpperCase().replace(/\W+/g, "_")]);
	const plain = Object.entries(headers).filter(([, value]) => value.length);
	const content = JSON.stringify(body);
	const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
	const say = JSON.stringify; // JSON's strings are Python's
	const items = [...plain.map(([name, value]) => `${say(name)}: ${say(`${value}`)}`), ...secrets.map(([name, variable]) => `${say(name)}: os.environ[${say(variable)}]`)];
	return {
		curl: [
			`curl -N ${quote(target.href)}`,
			...plain.map((header) => `-H ${quote(header.join(": "))}`),
			...secrets.map(([name, variable]) => `-H "${name}: $${variable}"`),
			`-d ${quote(content)}`,
		].join(" \\\n  "),
		Python: `import os

import httpx

headers = {${items.join(", ")}}
print(httpx.post(${say(target.href)}, content=${say(content)}, headers=headers, timeout=None).text)
`,
	};
}
