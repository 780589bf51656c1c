// The page: agents, a conversation with one of them, and views beside it.
import { render } from "./vendor/preact.js";
import { changed, html, Problem, useRef, useState } from "./ui.js";
import { Card } from "./card.js";
import { Chat, Safe } from "./chat.js";
import { ConversationList } from "./conversation_list.js";
import { conversationOf } from "./conversations.js";
import { keepDraft } from "./drafts.js";
import { Frames } from "./frames.js";
import { Login } from "./login.js";
import { keepPlace, readPlace } from "./place.js";
import { keepRun } from "./runs.js";
import { Session } from "./session.js";
import { Tasks } from "./tasks.js";
import { shown } from "./text.js";

const VIEWS = { Chat: () => null, History: ConversationList, Card, Tasks, Frames };
const WIDE = matchMedia("(width >= 60rem)");
const DARK = matchMedia("(prefers-color-scheme: dark)");

/** What the page holds. A reload brings the conversation back; headers and frames are gone then. */
const page = { frames: [], sessions: [], at: 0, look: {} };

/** Whether the page is for users of an agent, as its settings or the address say: without anything technical. */
const isChat = () => (new URLSearchParams(location.search).get("view") ?? page.look.view) === "chat";

/** Use the server's settings of the page. */
function useLook(look) {
	page.look = look;
	if (!look.colour) return;
	const { style } = document.documentElement;
	style.setProperty("--accent", `light-dark(${look.colour},color-mix(in oklab,${look.colour} 45%,white))`);
}

/** Show the agent and the conversation that an address names. */
function goToPlace(address) {
	const place = readPlace(address);
	const named = page.sessions.findIndex(({ agent }) => agent.name === place.agent);
	page.at = Math.max(0, named);
	const session = page.sessions[page.at];
	if (place.conversation || place.task) session?.restore(place);
	changed();
}

async function load() {
	try {
		const { agents, look } = await (await fetch("agents.json")).json();
		useLook(look);
		page.sessions = agents.map((agent) => new Session(agent, page.frames));
	} catch {
		page.problem = new Error("The server cannot be reached; load the page again.");
	}
	for (const session of page.sessions) session.loadCard();
	goToPlace(location.href);
}

function App() {
	const { frames, sessions, problem, at: index } = page;
	const setIndex = (at) => {
		page.at = at;
		changed.render(); // at once: the next key is for this agent
	};
	const [chosen, setTab] = useState("Chat");
	const hasChatOnly = isChat();
	const every = Object.keys(VIEWS).slice(0, hasChatOnly ? 2 : undefined);
	const tab = WIDE.matches && chosen === "Chat" ? every[hasChatOnly ? 1 : 2] : chosen;
	const session = sessions[index];
	return html`
		<header>
			<h1><img src=${page.look.logo ?? "icon.svg"} alt="" /><span>${titleOf(session)}</span></h1>
			${sessions.length > 1 && html`<select aria-label="Agent" value=${index} onChange=${({ target }) => setIndex(Number(target.value))}>
				${sessions.map(({ agent }, at) => html`<option value=${at}>${agent.name}</option>`)}
			</select>`}
			<span class="space" />
			${session && html`<${Login} session=${session} key=${`login ${session.origin}`} onHeaders=${(headers) => useHeaders(session, headers)} />`}
			${session && !hasChatOnly && html`<${Headers} session=${session} key=${session.origin} />`}
			<${Theme} />
		</header>
		<${Problem} of=${problem} />
		${session && html`<main data-tab=${tab} data-view=${hasChatOnly ? "chat" : "console"}>
			<${Tabs} tabs=${WIDE.matches ? every.slice(1) : every} tab=${tab} setTab=${setTab} />
			<${Chat} session=${session} key=${`chat ${index}`} />
			<div class="panel" role="tabpanel" id="panel" aria-label=${tab} tabindex="0"><${Safe} key=${tab + index}>
				<${VIEWS[tab]} session=${session} frames=${frames} onOpen=${() => WIDE.matches || setTab("Chat")} />
			<//></div>
		</main>`}`;
}

function Tabs({ tabs, tab, setTab }) {
	const onKeyDown = ({ key, currentTarget }) => {
		const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
		if (!step) return;
		const next = (tabs.indexOf(tab) + step + tabs.length) % tabs.length;
		setTab(tabs[next]);
		currentTarget.children[next].focus();
	};
	return html`<nav role="tablist" aria-label="Views" onKeyDown=${onKeyDown}>
		${tabs.map((name) => html`<button role="tab" aria-selected=${String(tab === name)} aria-controls="panel" tabindex=${tab === name ? 0 : -1} onClick=${() => setTab(name)}>${name}</button>`)}
	</nav>`;
}

const titleOf = (session) => page.look.title ?? (isChat() && session ? shown(session.card?.name ?? session.agent.name) : "A2A console");

/** Send headers with all requests to the session's server; servers elsewhere get nothing of it. */
function useHeaders({ origin }, headers) {
	for (const session of page.sessions.filter((each) => each.origin === origin)) {
		session.headers = headers;
		session.loadCard();
		if (session.restoreError) session.restore(session.place);
	}
	changed();
}

function Headers({ session }) {
	const { headers, origin } = session;
	const dialog = useRef(null);
	const known = Object.entries(headers);
	const use = ({ target }) => {
		const rows = [...target.querySelectorAll("div")].map(({ children: [name, value] }) => [name.value, value.value]);
		const typed = Object.fromEntries(rows.filter(([name, value]) => name && value));
		useHeaders(session, typed);
	};
	return html`<button onClick=${() => dialog.current.showModal()}>Headers ${known.length || ""}</button>
		<dialog ref=${dialog} aria-label="Headers"><form class="column" method="dialog" onSubmit=${use}>
			<p class="hint">For ${origin} only, forgotten with this page.</p>
			${[...known, [known.length ? "" : "Authorization"], [""]].map(([name, value], at) => html`<div key=${at}>
				<input aria-label="Name" pattern=${"[\\w.\\-]+"} defaultValue=${name} />
				<input aria-label="Value" type="password" autocomplete="off" placeholder="Bearer …" defaultValue=${value} />
			</div>`)}
			<button class="primary">Use</button>
		</form></dialog>`;
}

function Theme() {
	const { style } = document.documentElement;
	const isDark = style.colorScheme ? style.colorScheme === "dark" : DARK.matches;
	const other = isDark ? "light" : "dark";
	const change = () => {
		style.colorScheme = other;
		changed();
	};
	return html`<button aria-label="Use the ${other} theme" onClick=${change}>${isDark ? "☀" : "☾"}</button>`;
}

WIDE.onchange = DARK.onchange = changed;
changed.render = () => {
	render(html`<${App} />`, document.body);
	const session = page.sessions[page.at];
	if (!session) return;
	keepPlace(session);
	document.title = [conversationOf(session)?.title, session.agent.name, page.look.title ?? (!isChat() && "A2A console")].filter(Boolean).join(" · ");
};
// Not the present address: rendering may have written its own since.
addEventListener("hashchange", ({ newURL }) => goToPlace(newURL));
addEventListener("pagehide", () => {
	for (const session of page.sessions) {
		keepDraft(session);
		if (session.running) keepRun(session.running);
	}
});
load();
