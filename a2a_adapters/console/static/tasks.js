// The agent's tasks: listed, filtered, opened, cancelled.
import { html, State, STATE_NAMES, useChanges, useEffect, useState } from "./ui.js";
import { shown } from "./text.js";
import { textOf, Turn } from "./turn.js";

export function Tasks({ session, onOpen }) {
  useChanges(session);
  const [status, setStatus] = useState("");
  const [isHere, setIsHere] = useState(false);
  const [page, setPage] = useState({ tasks: [] });
  const [problem, setProblem] = useState("");
  const [id, setId] = useState("");
  const contextId = isHere ? session.contextId : "";

  const attempt = async (work) => {
    try {
      setProblem("");
      await work();
    } catch (error) {
      setProblem(error.message);
    }
  };
  const load = (token) =>
    attempt(async () => {
      const next = await session.list({ status, contextId }, token);
      const tasks = next.tasks ?? [];
      setPage((old) => ({ ...next, tasks: token ? [...old.tasks, ...tasks] : tasks }));
    });
  useEffect(() => {
    setPage({ tasks: [] });
    load();
  }, [session, status, contextId, session.running === null]);

  const open = (taskId) =>
    attempt(async () => {
      session.open(await session.get(taskId));
      onOpen();
    });
  const cancel = (taskId) =>
    attempt(async () => {
      await session.cancel(taskId);
      await load();
    });
  return html`<div class="panel tasks">
    <div class="filters">
      <select aria-label="State" value=${status} onChange=${(event) => setStatus(event.target.value)}>
        <option value="">every state</option>
        ${STATE_NAMES.map(([name, word]) => html`<option value=${name}>${word}</option>`)}
      </select>
      <label><input type="checkbox" checked=${isHere} disabled=${!session.contextId} onChange=${(event) => setIsHere(event.target.checked)} /> this conversation</label>
      <span class="space"></span>
      <button type="button" class="small" onClick=${() => load()}>Refresh</button>
    </div>
    ${problem && html`<p class="error" role="alert">${shown(problem)}</p>`}
    <ul>${page.tasks.map((task) => html`<${Row} key=${task.id} task=${task} open=${open} cancel=${cancel} />`)}</ul>
    ${!page.tasks.length && !problem && html`<p class="hint">No tasks.</p>`}
    ${page.nextPageToken && html`<button type="button" onClick=${() => load(page.nextPageToken)}>More</button>`}
    <form class="by-id" onSubmit=${(event) => (event.preventDefault(), open(id.trim()))}>
      <input aria-label="Task id" placeholder="Open a task by its id" value=${id} onInput=${(event) => setId(event.target.value)} />
      <button disabled=${!id.trim()}>Open</button>
    </form>
  </div>`;
}

function Row({ task, open, cancel }) {
  const state = task.status?.state;
  const turn = new Turn(null);
  turn.fold({ task });
  const { parts = [] } = task.history?.at(-1) ?? task.status?.message ?? {};
  const said = textOf(parts) || JSON.stringify(parts.find((part) => "data" in part)?.data) || task.id;
  const at = task.status?.timestamp ? new Date(task.status.timestamp) : null;
  return html`<li class="task">
    <button type="button" class="open" onClick=${() => open(task.id)}>
      <span class="line">${shown(said.slice(0, 120))}</span>
      <small><${State} of=${state} /> ${at && at.toLocaleString()} <code>${shown(task.id.slice(0, 8))}</code></small>
    </button>
    ${!turn.hasEnded && html`<button type="button" class="small" onClick=${() => cancel(task.id)}>Cancel</button>`}
  </li>`;
}
