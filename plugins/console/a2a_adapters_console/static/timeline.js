// The steps and tool calls of a turn.
import { html, many, span } from "./ui.js";
import { Tree } from "./parts.js";
import { Markdown, shown } from "./text.js";

export function Timeline({ steps, isOpen }) {
	const tools = steps.filter(({ name }) => name).length;
	const others = steps.length - tools;
	const words = [tools && many(tools, "tool call"), others && many(others, "step")];
	return steps.length > 0 && html`<details class="timeline" open=${isOpen}>
		<summary>${words.filter(Boolean).join(", ")}</summary>
		<ol>${steps.map((step) => html`<${Step} ...${step} />`)}</ol>
	</details>`;
}

function Step({ name, text, data, given, result, isError, at, done }) {
	if (!name) return html`<li>${text && html`<${Markdown} text=${text} />`}${data && html`<${Tree} value=${data} isOpen />`}</li>`;
	const label = html`<code>${shown(name)}</code> ${done ? span(done - at) : "running"}`;
	const value = { given, ...(done && { [isError ? "error" : "result"]: result }) };
	return html`<li class=${isError ? "bad" : done ? "good" : "busy"}><${Tree} label=${label} value=${value} /></li>`;
}
