// The agent's tasks: listed, filtered, opened, cancelled.
import { html, Problem, State, STATES, useEffect, useState } from "./ui.js";
import { shown } from "./text.js";
import { textOf } from "./turn.js";

export function Tasks({ session, onOpen }) {
	const [status, setStatus] = useState();
	const [isHere, setIsHere] = useState(false);
	const [page, setPage] = useState({ tasks: [] });
	const [problem, setProblem] = useState(null);

	const attempt = (work) => work.then(() => setProblem(null), setProblem);
	const load = (pageToken) => {
		const filters = { status, contextId: isHere ? session.contextId : undefined, pageToken };
		const add = (next) => setPage((old) => ({ ...next, tasks: [...(pageToken ? old.tasks : []), ...(next.tasks ?? [])] }));
		return attempt(session.list(filters).then(add));
	};
	useEffect(() => void load(), [status, isHere, session.running === null]);

	const open = (id) => attempt(session.open(id).then(onOpen));
	const cancel = (id) => attempt(session.cancel(id).then(() => load()));
	const onSubmit = (event) => {
		event.preventDefault();
		open(event.target.elements.id.value.trim());
	};
	return html`<div class="column">
		<div class="buttons">
			<select aria-label="State" value=${status} onChange=${({ target }) => setStatus(target.value || undefined)}>
				<option value="">every state</option>
				${Object.entries(STATES).map(([name, [word]]) => html`<option value=${name}>${word}</option>`)}
			</select>
			<label><input type="checkbox" checked=${isHere} disabled=${!session.contextId} onChange=${() => setIsHere(!isHere)} /> this conversation</label>
			<button onClick=${() => load()}>Refresh</button>
		</div>
		<${Problem} of=${problem} />
		<ul>${page.tasks.map((task) => html`<${Row} key=${task.id} task=${task} open=${open} cancel=${cancel} />`)}</ul>
		${!page.tasks.length && html`<p class="hint">No tasks.</p>`}
		${page.nextPageToken && html`<button onClick=${() => load(page.nextPageToken)}>More</button>`}
		<form class="buttons" onSubmit=${onSubmit}>
			<input name="id" aria-label="Task id" placeholder="Open a task by its id" required />
			<button>Open</button>
		</form>
	</div>`;
}

function Row({ task: { id, status = {}, history }, open, cancel }) {
	const said = textOf((history?.at(-1) ?? status.message)?.parts) || id;
	const at = status.timestamp && new Date(status.timestamp).toLocaleString();
	return html`<li class="task">
		<button class="open" onClick=${() => open(id)}>
			<span class="line">${shown(said.slice(0, 120))}</span>
			<small><${State} of=${status.state} /> ${at} <code>${shown(id.slice(0, 8))}</code></small>
		</button>
		${["busy", "asks"].includes(STATES[status.state]?.[1]) && html`<button onClick=${() => cancel(id)}>Cancel</button>`}
	</li>`;
}
