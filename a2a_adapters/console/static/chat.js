// The conversation: what was said, how it came about, and the place to say more.
import { Component } from "./vendor/preact.js";
import { html, many, Problem, size, span, State, useChanges, useEffect, useRef, useState } from "./ui.js";
import { Form } from "./form.js";
import { asParts, Parts, Tree } from "./parts.js";
import { Markdown, shown } from "./text.js";
import { answers, schemaOf } from "./turn.js";

export function Chat({ session }) {
	useChanges(session);
	const [box, onScroll] = useBottom(session);
	const take = (event) => {
		const { files, types } = event.dataTransfer ?? event.clipboardData;
		if (!files.length || types.includes("text/plain")) return; // office programs add a picture of the text
		event.preventDefault();
		session.attach(files);
	};
	const onDragOver = (event) => event.dataTransfer.types.includes("Files") && event.preventDefault();
	return html`<section class="chat" aria-label="Conversation" onDragOver=${onDragOver} onDrop=${take} onPaste=${take}>
		<div class="turns" role="log" tabindex="0" aria-label="Messages" ref=${box} onScroll=${onScroll}><div>
			${!session.turns.length && html`<${Welcome} session=${session} />`}
			${session.turns.map((turn, at) => html`<${Safe} key=${at}><${TurnView} turn=${turn} session=${session} /><//>`)}
		</div></div>
		<${Composer} session=${session} />
	</section>`;
}

/** Stay at the end of what grows, for as long as the reader does. */
function useBottom(session) {
	const box = useRef(null);
	const stays = useRef(true);
	useEffect(() => {
		const observer = new ResizeObserver(() => {
			if (stays.current) box.current.scrollTop = box.current.scrollHeight;
		});
		observer.observe(box.current);
		observer.observe(box.current.firstElementChild);
		return () => observer.disconnect();
	}, [session]);
	const onScroll = ({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
		stays.current = scrollHeight - scrollTop - clientHeight < 40;
	};
	return [box, onScroll];
}

/** One answer that cannot be shown must not take the others with it. */
export class Safe extends Component {
	componentDidCatch(problem) {
		this.setState({ problem });
	}

	render({ children }, { problem }) {
		return problem ? html`<p class="error">This cannot be shown; it is in the frames.</p>` : children;
	}
}

function Welcome({ session: { card, cardError, agent } }) {
	return html`<div class="welcome">
		<h2>${shown(card?.name ?? agent.name)}</h2>
		<p>${shown(card?.description)}</p>
		<${Problem} of=${cardError} />
	</div>`;
}

function TurnView({ turn, session }) {
	const isRunning = session.running === turn;
	const isOpen = turn.asks && session.asking === turn;
	const { sent, said, history, error, taskId } = turn;
	const before = sent ? [{ role: "ROLE_USER", parts: sent }] : history.filter(({ messageId }) => messageId !== said?.messageId);
	// A form says the schema better.
	const parts = said?.parts?.filter((part) => !turn.asks || !schemaOf(part)) ?? [];
	return html`<article class="turn">
		${before.map(({ role, parts }) => html`<div class="said ${role === "ROLE_USER" ? "user" : ""}"><${Parts} parts=${parts} /></div>`)}
		<div class="said agent">
			<${Timeline} steps=${turn.steps} isOpen=${isRunning} />
			${turn.fresh.map((artifact) => html`<${Artifact} key=${artifact.artifactId} artifact=${artifact} />`)}
			${said && html`<div class="box ${turn.asks ? "question" : ""}"><${Parts} parts=${parts} />${isOpen && html`<${Answers} turn=${turn} session=${session} />`}</div>`}
			<${Problem} of=${error}>${!taskId && html`<button class="small" onClick=${() => session.retry(turn)}>Try again</button>`}<//>
			${turn.trouble && html`<p class="trouble" role="status">${shown(turn.trouble)}</p>`}
			<p class="meta">
				${isRunning && html`<span class="working"></span>`}
				${turn.state && html`<${State} of=${turn.state} />`}
				${sent && turn.isSettled && span(turn.took)}
				${!isRunning && !turn.isSettled && taskId && html`<button class="small" onClick=${() => session.follow(turn)}>Subscribe again</button>`}
			</p>
		</div>
	</article>`;
}

function Artifact({ artifact: { name, description, parts } }) {
	const isAnswer = !name || name === "answer";
	return html`<div class="box artifact">
		${!isAnswer && html`<small title=${description}>${shown(name)}</small>`}
		<${Parts} parts=${parts} />
	</div>`;
}

function Answers({ turn, session }) {
	const { schema, words } = answers(turn.said);
	return html`<div class="answers">
		${schema && html`<${Form} schema=${schema} onAnswer=${(data) => session.send([{ data }])} />`}
		${words.map((text) => html`<button onClick=${() => session.send([{ text: String(text) }])}>${shown(text)}</button>`)}
	</div>`;
}

function Timeline({ steps, isOpen }) {
	const tools = steps.filter(({ name }) => name).length;
	const words = [tools && many(tools, "tool call"), steps.length > tools && many(steps.length - tools, "step")];
	return steps.length > 0 && html`<details class="timeline" open=${isOpen}>
		<summary>${words.filter(Boolean).join(", ")}</summary>
		<ol>${steps.map((step) => html`<${Step} ...${step} />`)}</ol>
	</details>`;
}

function Step({ name, text, data, given, result, isError, at, done }) {
	if (!name) return html`<li>${text && html`<${Markdown} text=${text} />`}${data && html`<${Tree} value=${data} isOpen />`}</li>`;
	return html`<li class=${isError ? "bad" : done ? "good" : "busy"}><details>
		<summary><code>${shown(name)}</code> ${done ? span(done - at) : "running"}</summary>
		<div class="io">given <${Tree} value=${given} isOpen /></div>
		${done && html`<div class="io">${isError ? "error" : "result"} <${Tree} value=${result} isOpen /></div>`}
	</details></li>`;
}

function Composer({ session }) {
	const input = useRef(null);
	const picker = useRef(null);
	const [problem, setProblem] = useState(null);
	const { running, asking, draft, files, turns, card, agent } = session;
	const isEmpty = !draft.trim() && !files.length;
	useEffect(() => {
		const { tagName, form } = document.activeElement; // others keep the keys
		if (!running && !asking && (tagName === "BODY" || form)) input.current.focus();
	}, [session, running]);

	const send = async (event) => {
		event.preventDefault();
		const { draft, files, running } = session; // newer than what is rendered
		if (running || (!draft.trim() && !files.length)) return;
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
		<ul class="chosen">${files.map((file) => html`<li>${shown(file.name)} <small>${size(file.size)}</small>
			<button type="button" aria-label="Remove ${file.name}" onClick=${() => session.set({ files: files.filter((each) => each !== file) })}>×</button></li>`)}</ul>
		<textarea ref=${input} rows=${Math.min(8, draft.split("\n").length)} value=${draft} aria-label="Message"
			placeholder=${asking ? "Your answer" : `Message ${card?.name ?? agent.name}`}
			onInput=${(event) => session.set({ draft: event.target.value })} onKeyDown=${onKeyDown} />
		<div class="buttons">
			<input ref=${picker} type="file" multiple hidden onChange=${({ target }) => (session.attach(target.files), (target.value = ""))} />
			<button type="button" title="Attach files" aria-label="Attach files" onClick=${() => picker.current.click()}>+</button>
			<button type="button" disabled=${!turns.length} onClick=${() => session.startNew()}>New conversation</button>
			<span class="space" />
			${running
				? html`<button type="button" class="stop" disabled=${session.isStopping} onClick=${() => session.stop()}>Stop</button>`
				: html`<button class="primary" disabled=${isEmpty}>Send</button>`}
		</div>
	</form>`;
}
