// The run of a turn: its steps and tool calls in time, its tokens, its cost and its trace.
import { Copy, html, many, span } from "./ui.js";
import { Tree } from "./parts.js";
import { Markdown, shown } from "./text.js";
import { Delegates, delegatesOf, modelsOf } from "./delegates.js";
import { spentOf, usageOf } from "./usage.js";

export function Timeline({ turn, isOpen }) {
	const { steps, metadata } = turn;
	const { tokens, cost } = usageOf(metadata);
	const tools = steps.filter(({ name }) => name).length;
	const others = steps.length - tools;
	const delegates = delegatesOf(metadata);
	const counts = [tools && many(tools, "tool call"), others && many(others, "step"), delegates.length && many(delegates.length, "other agent")];
	const words = [counts.filter(Boolean).join(", "), tokens, cost];
	return words.some(Boolean) && html`<details class="timeline" open=${isOpen}>
		<summary>${words.filter(Boolean).join(" · ")}</summary>
		<ol>${steps.map((step) => html`<${Step} step=${step} turn=${turn} />`)}</ol>
		<${Delegates} delegates=${delegates} />
		<${Facts} turn=${turn} />
	</details>`;
}

function Step({ step, turn }) {
	const { name, text, data, given, result, isError, at, done } = step;
	const when = at >= turn.startedAt && html`<small class="when">+${span(at - turn.startedAt)}</small>`;
	if (!name) return html`<li>${when}<div>${text && html`<${Markdown} text=${text} />`}${data && html`<${Tree} value=${data} isOpen />`}</div></li>`;
	const outcome = done ? span(done - at) : turn.isSettled ? "no result" : "running";
	const label = html`<code>${shown(name)}</code> ${isError ? "failed, " : ""}<span class="took">${outcome}</span>`;
	const value = { arguments: given, ...(done && { [isError ? "error" : "result"]: result }) };
	return html`<li class=${isError ? "bad" : done ? "good" : "busy"}>${when}<div>
		<${Tree} label=${label} value=${value} />
		<${Bar} step=${step} turn=${turn} />
	</div></li>`;
}

/** When a tool ran, within its run. */
function Bar({ step: { at, done }, turn: { startedAt, took } }) {
	const share = (ms) => `${Math.min(100, Math.max(0, (100 * ms) / took))}%`;
	if (!(took > 0) || !(at >= startedAt)) return null;
	const style = { marginLeft: share(at - startedAt), width: share((done ?? startedAt + took) - at) };
	return html`<div class="bar" aria-hidden="true"><span style=${style} /></div>`;
}

/** The trace of the run: servers that do not trust the page's begin one of their own. */
const traceOf = ({ metadata, traceId }) => /^00-([0-9a-f]{32})-/.exec(metadata?.["a2a_adapters.traceparent"])?.[1] ?? traceId;

function Facts({ turn }) {
	const { metadata, taskId } = turn;
	const traceId = traceOf(turn);
	const { tokens, split, cost, model } = usageOf(metadata);
	const facts = { Model: model, Tokens: split ?? tokens, Cost: cost };
	const models = modelsOf(metadata);
	return html`<dl class="facts">
		${Object.entries(facts).map(([name, value]) => value && html`<div><dt>${name}</dt><dd>${shown(value)}</dd></div>`)}
		${models.length > 1 && models.map(([name, spent]) => html`<div><dt>${shown(name)}</dt><dd>${Object.values(spentOf(spent)).filter(Boolean).join(", ")}</dd></div>`)}
		${traceId && html`<div><dt>Trace</dt><dd><code>${traceId}</code> <${Copy} label="Copy" text=${() => traceId} /></dd></div>`}
		${taskId && html`<div><dt>Task</dt><dd><code>${shown(taskId)}</code> <${Copy} label="Copy" text=${() => taskId} /></dd></div>`}
	</dl>
	${metadata && html`<${Tree} label="Metadata" value=${metadata} />`}`;
}
