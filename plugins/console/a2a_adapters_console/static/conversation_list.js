// The list of conversations: searched, opened, renamed, removed, and the files that others can open.
import { conversationsOf, removeConversation, renameConversation } from "./conversations.js";
import { exported, imported } from "./exchange.js";
import { html, Problem, useRef, useState } from "./ui.js";
import { shown } from "./text.js";

export function ConversationList({ session, onOpen }) {
	const picker = useRef(null);
	const [words, setWords] = useState("");
	const [problem, setProblem] = useState(null);
	const all = conversationsOf(session);
	const found = all.filter(({ title }) => title.toLowerCase().includes(words.trim().toLowerCase()));
	const load = async ({ target }) => {
		const [file] = target.files;
		target.value = "";
		try {
			session.showImported(imported(await file.text()));
			setProblem(null);
			onOpen();
		} catch (problem) {
			setProblem(problem);
		}
	};
	return html`<div class="column">
		<div class="buttons">
			<input type="search" aria-label="Search conversations" placeholder="Search" value=${words} onInput=${({ target }) => setWords(target.value)} />
			<button disabled=${!session.turns.length} onClick=${() => save(session)}>Export</button>
			<input ref=${picker} type="file" accept=".json,application/json" aria-label="Conversation file" hidden onChange=${load} />
			<button onClick=${() => picker.current.click()}>Import</button>
		</div>
		<${Problem} of=${problem} />
		<ul>${found.map((each) => html`<${Row} key=${each.id} conversation=${each} session=${session} onOpen=${onOpen} />`)}</ul>
		${!found.length && html`<p class="hint">${all.length ? "No conversation has these words in its title." : "No conversations yet."}</p>`}
		<p class="hint">Titles are kept in this browser; the messages stay with the agent, also when a conversation is deleted here.</p>
	</div>`;
}

function Row({ conversation, session, onOpen }) {
	const [isRenaming, setIsRenaming] = useState(false);
	const { id, title, at } = conversation;
	const isHere = session.contextId === id;
	const rename = (event) => {
		event.preventDefault();
		renameConversation(conversation, event.target.elements.title.value.trim() || title);
		setIsRenaming(false);
	};
	const remove = () => {
		removeConversation(conversation);
		if (isHere) session.startNew();
	};
	const open = () => {
		if (!isHere || !session.turns.length) session.restore({ conversation: id });
		onOpen();
	};
	if (isRenaming) {
		const focus = (input) => input?.select();
		const onKeyDown = ({ key }) => key === "Escape" && setIsRenaming(false);
		return html`<li class="task"><form class="buttons" onSubmit=${rename} onKeyDown=${onKeyDown}>
			<input name="title" aria-label="Title" maxlength="80" defaultValue=${title} ref=${focus} />
			<button>Save</button>
		</form></li>`;
	}
	return html`<li class="task">
		<button class="open" aria-current=${isHere ? "true" : null} onClick=${open}>
			<span class="line">${shown(title)}</span>
			<small><time>${new Date(at).toLocaleString()}</time></small>
		</button>
		<button aria-label="Rename ${title}" onClick=${() => setIsRenaming(true)}>Rename</button>
		<button aria-label="Delete ${title}" onClick=${remove}>Delete</button>
	</li>`;
}

function save(session) {
	const { title, text } = exported(session);
	const url = URL.createObjectURL(new Blob([text], { type: "application/octet-stream" }));
	const name = title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "conversation";
	Object.assign(document.createElement("a"), { href: url, download: `${name}.json` }).click();
	setTimeout(() => URL.revokeObjectURL(url), 1000);
}
