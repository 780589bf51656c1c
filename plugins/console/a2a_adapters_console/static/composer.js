// The place to say more: words, files, and messages that wait for the agent.
import { html, Problem, size, useEffect, useRef, useState } from "./ui.js";
import { asParts } from "./parts.js";
import { shown } from "./text.js";
import { textOf } from "./turn.js";

export function Composer({ session }) {
	const input = useRef(null);
	const [problem, setProblem] = useState(null);
	const { running, asking, draft, card, agent } = session;
	useEffect(() => {
		const { tagName, form } = document.activeElement; // others keep the keys
		if (!running && !asking && (tagName === "BODY" || form)) input.current.focus();
	}, [session, running]);

	const send = async (event) => {
		event.preventDefault();
		const { draft, files, isEmpty } = session; // newer than what is rendered
		if (isEmpty) return;
		session.set({ draft: "", files: [] }); // at once, or a second Enter sends it again
		try {
			const parts = [...(draft.trim() ? [{ text: draft }] : []), ...(await asParts(files))];
			setProblem(null);
			session.say(parts);
		} catch {
			session.set({ draft, files });
			setProblem(new Error("A file cannot be read."));
		}
	};
	const onKeyDown = (event) => {
		if (event.key === "Enter" && !event.shiftKey && !event.isComposing) send(event);
		if (event.key === "Escape") session.stop();
	};
	return html`<form class="composer" onSubmit=${send}>
		<${Problem} of=${problem} />
		<${Queue} session=${session} />
		<${Files} session=${session} />
		<textarea ref=${input} rows=${Math.min(8, draft.split("\n").length)} value=${draft} aria-label="Message"
			placeholder=${asking ? "Your answer" : `Message ${card?.name ?? agent.name}`}
			onInput=${({ target }) => session.set({ draft: target.value })} onKeyDown=${onKeyDown} />
		<${Actions} session=${session} />
	</form>`;
}

function Actions({ session }) {
	const picker = useRef(null);
	const { running, isBusy, isEmpty, turns } = session;
	return html`<div class="buttons">
		<input ref=${picker} type="file" multiple hidden onChange=${({ target }) => (session.attach(target.files), (target.value = ""))} />
		<button type="button" aria-label="Attach files" onClick=${() => picker.current.click()}>+</button>
		<button type="button" disabled=${!turns.length} onClick=${() => session.startNew()}>New conversation</button>
		<span class="space" />
		${running && html`<button type="button" class="bad" disabled=${session.isStopping} onClick=${() => session.stop()}>Stop</button>`}
		${(!running || !isEmpty) && html`<button class="primary" disabled=${isEmpty}>${isBusy ? "Queue" : "Send"}</button>`}
	</div>`;
}

function Files({ session }) {
	const { files } = session;
	return html`<ul class="buttons">${files.map((file) => html`<li class="chip">${shown(file.name)} <small>${size(file.size)}</small>
		<button type="button" aria-label="Remove ${file.name}" onClick=${() => session.set({ files: files.filter((each) => each !== file) })}>×</button></li>`)}</ul>`;
}

/** Messages that are sent when the agent is done; after a question or a failure, the user decides. */
function Queue({ session }) {
	const { queue, isBusy } = session;
	const remove = (parts) => session.set({ queue: queue.filter((each) => each !== parts) });
	const send = (parts) => {
		remove(parts);
		session.say(parts);
	};
	return queue.length > 0 && html`<ul class="column" aria-label="Queue">${queue.map((parts) => html`<li class="chip buttons">
		<small>${isBusy ? "queued" : "not sent"}</small>
		<span class="line">${shown(textOf(parts) || parts.map(({ filename }) => filename).join(", "))}</span>
		${!isBusy && html`<button type="button" onClick=${() => send(parts)}>Send now</button>`}
		<button type="button" aria-label="Remove from the queue" onClick=${() => remove(parts)}>×</button>
	</li>`)}</ul>`;
}
