// The conversation, and the place to say more.
import { Component } from "./vendor/preact.js";
import { html, many, Problem, size, span, State, useEffect, useRef, useState } from "./ui.js";
import { Form } from "./form.js";
import { asParts, Parts, Tree } from "./parts.js";
import { Markdown, shown } from "./text.js";
import { answers, schemaOf } from "./turn.js";

export function Chat({ session }) {
	const { turns, card, cardError, agent, restoring, restoreError } = session;
	const take = (event) => {
		const { files, types } = event.dataTransfer ?? event.clipboardData;
		if (!files.length || types.includes("text/plain")) return; // office programs add a picture of the text
		event.preventDefault();
		session.attach(files);
	};
	const onDragOver = (event) => event.dataTransfer.types.includes("Files") && event.preventDefault();
	return html`<section class="chat" aria-label="Conversation" onDragOver=${onDragOver} onDrop=${take} onPaste=${take}>
		<div class="turns" role="log" tabindex="0" aria-label="Messages"><div>
			<${Problem} of=${restoreError}><button onClick=${() => session.restore(session.place)}>Try again</button><//>
			${restoring && html`<p class="hint" role="status">Reading the conversation …</p>`}
			${!turns.length && !restoring && html`<div class="welcome"><h2>${shown(agent.name)}</h2>${shown(card?.description)}<${Problem} of=${cardError} /></div>`}
			${turns.map((turn, at) => html`<${Safe} key=${at}><${TurnView} turn=${turn} session=${session} /><//>`)}
		</div></div>
		<${Composer} session=${session} />
	</section>`;
}

/** One answer that cannot be shown must not take the others with it. */
export class Safe extends Component {
	componentDidCatch(problem) {
		this.setState({ problem });
	}

	render({ children }, { problem }) {
		return problem ? html`<p class="bad">This cannot be shown; it is in the frames.</p>` : children;
	}
}

function TurnView({ turn, session }) {
	const isRunning = session.running === turn;
	const { sent, said, asks, state, history, error, taskId, trouble, isSettled } = turn;
	const before = sent ? [{ role: "ROLE_USER", parts: sent }] : history.filter(({ messageId }) => messageId !== said?.messageId);
	// A form says the schema better.
	const parts = said?.parts?.filter((part) => !asks || !schemaOf(part));
	return html`<article class="turn column">
		${before.map(({ role, parts }) => html`<div class="said ${role === "ROLE_USER" ? "user" : ""}"><${Parts} parts=${parts} /></div>`)}
		<div class="said agent column">
			<${Timeline} steps=${turn.steps} isOpen=${isRunning} />
			${turn.fresh.map(({ artifactId, name = "answer", description, parts }) => html`<div class="box artifact" key=${artifactId}>
				${name !== "answer" && html`<small title=${description}>${shown(name)}</small>`}
				<${Parts} parts=${parts} session=${session} />
			</div>`)}
			${said && html`<div class="box ${asks ? "question" : ""}"><${Parts} parts=${parts} session=${session} />${session.asking === turn && html`<${Answers} said=${said} session=${session} />`}</div>`}
			<${Problem} of=${error}>${!taskId && html`<button onClick=${() => session.retry(turn)}>Try again</button>`}<//>
			${trouble && html`<p class="asks" role="status">${shown(trouble)}</p>`}
			<p class="meta buttons">
				${(state || isRunning) && html`<${State} of=${state ?? "TASK_STATE_SUBMITTED"} />`}
				${sent && isSettled && span(turn.took)}
				${!isRunning && !isSettled && taskId && html`<button onClick=${() => session.follow(turn)}>Subscribe again</button>`}
			</p>
		</div>
	</article>`;
}

function Answers({ said, session }) {
	const { schema, words } = answers(said);
	return html`<div class="buttons">
		${schema && html`<${Form} schema=${schema} onAnswer=${(data) => session.send([{ data }])} />`}
		${words.map((text) => html`<button onClick=${() => session.send([{ text: String(text) }])}>${shown(text)}</button>`)}
	</div>`;
}

function Timeline({ steps, isOpen }) {
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

function Composer({ session }) {
	const input = useRef(null);
	const picker = useRef(null);
	const [problem, setProblem] = useState(null);
	const { running, asking, draft, files, turns, card, agent } = session;
	useEffect(() => {
		const { tagName, form } = document.activeElement; // others keep the keys
		if (!running && !asking && (tagName === "BODY" || form)) input.current.focus();
	}, [session, running]);

	const send = async (event) => {
		event.preventDefault();
		const { draft, files, isBusy, isEmpty } = session; // newer than what is rendered
		if (isBusy || isEmpty) return;
		try {
			const parts = [...(draft.trim() ? [{ text: draft }] : []), ...(await asParts(files))];
			session.set({ draft: "", files: [] });
			setProblem(null);
			session.send(parts);
		} catch {
			setProblem(new Error("A file cannot be read."));
		}
	};
	const onKeyDown = (event) => {
		if (event.key === "Enter" && !event.shiftKey && !event.isComposing) send(event);
		if (event.key === "Escape") session.stop();
	};
	return html`<form class="composer" onSubmit=${send}>
		<${Problem} of=${problem} />
		<ul class="buttons">${files.map((file) => html`<li class="chip">${shown(file.name)} <small>${size(file.size)}</small>
			<button type="button" aria-label="Remove ${file.name}" onClick=${() => session.set({ files: files.filter((each) => each !== file) })}>×</button></li>`)}</ul>
		<textarea ref=${input} rows=${Math.min(8, draft.split("\n").length)} value=${draft} aria-label="Message"
			placeholder=${asking ? "Your answer" : `Message ${card?.name ?? agent.name}`}
			onInput=${({ target }) => session.set({ draft: target.value })} onKeyDown=${onKeyDown} />
		<div class="buttons">
			<input ref=${picker} type="file" multiple hidden onChange=${({ target }) => (session.attach(target.files), (target.value = ""))} />
			<button type="button" aria-label="Attach files" onClick=${() => picker.current.click()}>+</button>
			<button type="button" disabled=${!turns.length} onClick=${() => session.startNew()}>New conversation</button>
			<span class="space" />
			${running
				? html`<button type="button" class="bad" disabled=${session.isStopping} onClick=${() => session.stop()}>Stop</button>`
				: html`<button class="primary" disabled=${session.isEmpty || session.isBusy}>Send</button>`}
		</div>
	</form>`;
}
