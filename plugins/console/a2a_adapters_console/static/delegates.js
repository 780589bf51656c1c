// The tasks of other agents that a task needed, from the bill in its metadata.
import { Copy, html } from "./ui.js";
import { isObject, shown } from "./text.js";
import { spentOf } from "./usage.js";

const BILL = "a2a_adapters.bill";
const MOST = 100;
const DEEPEST = 6;

const billOf = (metadata) => (isObject(metadata?.[BILL]) ? metadata[BILL] : {});
const listed = (value) => (Array.isArray(value) ? value.filter(isObject).slice(0, MOST) : []);

export const delegatesOf = (metadata) => listed(billOf(metadata).delegates);

/** The models of a bill, each with what it used. */
export function modelsOf(metadata) {
	const { models } = billOf(metadata);
	return isObject(models) ? Object.entries(models).slice(0, MOST) : [];
}

export function Delegates({ delegates, depth = DEEPEST }) {
	if (!delegates.length || !depth) return null;
	return html`<ol class="delegates">${delegates.map((each) => html`<${Delegate} delegate=${each} depth=${depth} />`)}</ol>`;
}

function Delegate({ delegate, depth }) {
	const { agent, task_id: taskId, state, spent, delegates } = delegate;
	const { tokens, cost } = spentOf(spent);
	const isBad = ["failed", "rejected", "canceled"].includes(state);
	const words = [isBad && state, tokens, cost].filter(Boolean).join(" · ");
	return html`<li class=${isBad ? "bad" : state === "completed" ? "good" : "busy"}><div>
		<strong>${shown(String(agent ?? ""))}</strong> <span class="took">${shown(words)}</span>
		${taskId && html`<small><code>${shown(String(taskId))}</code> <${Copy} label="Copy" text=${() => String(taskId)} /></small>`}
		<${Delegates} delegates=${listed(delegates)} depth=${depth - 1} />
	</div></li>`;
}
