// A turn on the page: what was said, what the agent did, and its answer.
import { Copy, html, Problem, span, State, useEffect, useRef, useState } from "./ui.js";
import { Form } from "./form.js";
import { Parts } from "./parts.js";
import { shown } from "./text.js";
import { Timeline } from "./timeline.js";
import { answers, argumentsOf, asked, copyable } from "./turn.js";

export function TurnView({ turn, session }) {
	const isRunning = session.running === turn;
	const { sent, said, asks, state, history, error, taskId, trouble, isSettled } = turn;
	const before = sent ? [{ role: "ROLE_USER", parts: sent }] : history.filter(({ messageId }) => messageId !== said?.messageId);
	const parts = asks ? asked(said?.parts) : said?.parts;
	const answer = [...turn.fresh.flatMap(({ parts }) => parts), ...(parts ?? [])];
	return html`<article class="turn column">
		${before.map((message) => html`<${Said} message=${message} session=${session} />`)}
		<div class="said agent column">
			<${Timeline} turn=${turn} isOpen=${isRunning} />
			${turn.fresh.map(({ artifactId, name = "answer", description, parts }) => html`<div class="box artifact" key=${artifactId}>
				${name !== "answer" && html`<small title=${description}>${shown(name)}</small>`}
				<${Parts} parts=${parts} session=${session} />
			</div>`)}
			${said && html`<div class="box ${asks ? "question" : ""}"><${Parts} parts=${parts} session=${session} />${session.asking === turn && html`<${Answers} said=${said} session=${session} />`}</div>`}
			<${Problem} of=${error}>${!taskId && html`<button onClick=${() => session.retry(turn)}>Try again</button>`}<//>
			${trouble && html`<p class="asks" role="status">${shown(trouble)}</p>`}
			<p class="meta buttons">
				${(state || isRunning) && html`<${State} of=${state ?? "TASK_STATE_SUBMITTED"} />`}
				${(sent || turn.isRecalled) && isSettled && html`<span class="took">${span(turn.lasted ?? turn.took)}</span>`}
				${!isRunning && !isSettled && taskId && html`<button onClick=${() => session.follow(turn)}>Subscribe again</button>`}
				${isSettled && copyable(answer) && html`<${Copy} label="Copy reply" text=${() => copyable(answer)} />`}
			</p>
		</div>
	</article>`;
}

function Said({ message: { role, parts }, session }) {
	const isUser = role === "ROLE_USER";
	const text = copyable(parts);
	const isEditable = parts.some((part) => part.text || part.raw);
	const edit = () => {
		session.edit(parts);
		document.querySelector(".composer textarea").focus();
	};
	return html`<div class="said ${isUser ? "user" : ""}"><${Parts} parts=${parts} /></div>
		${isUser && html`<div class="own buttons">
			${text && html`<${Copy} label="Copy" text=${() => text} />`}
			${isEditable && html`<button title="Change the message and send it as a new one" onClick=${edit}>Edit</button>`}
			<button disabled=${session.isBusy} title="Send the message once more" onClick=${() => session.say(parts)}>Retry</button>
		</div>`}`;
}

function Answers({ said, session }) {
	const place = useRef(null);
	const [isEditing, setIsEditing] = useState(false);
	const { schema, words, action } = answers(said);
	const edit = (args) => session.send([{ data: { decisions: [{ type: "edit", edited_action: { name: action.name, args } }] } }]);
	useEffect(() => {
		const isFree = !session.draft && ["BODY", "TEXTAREA"].includes(document.activeElement.tagName);
		if (isFree) place.current.querySelector("input, select, textarea, button")?.focus();
	}, []);
	return html`<div class="buttons" ref=${place}>
		${schema && html`<${Form} schema=${schema} onAnswer=${(data) => session.send([{ data }])} />`}
		${words.map((text) => html`<button onClick=${() => session.send([{ text: String(text) }])}>${shown(text)}</button>`)}
		${action && html`<button aria-expanded=${isEditing} onClick=${() => setIsEditing(!isEditing)}>edit</button>`}
		${isEditing && html`<${Form} schema=${argumentsOf(action)} onAnswer=${edit} />`}
	</div>`;
}
