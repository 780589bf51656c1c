// The page: agents, the conversation with one of them, and what is to know beside it.
import { render } from "./vendor/preact.js";
import { html, Problem, Subject, useChanges, useEffect, useRef, useState } from "./ui.js";
import { Card } from "./card.js";
import { Chat, Safe } from "./chat.js";
import { FramesView } from "./frames.js";
import { Session } from "./session.js";
import { Tasks } from "./tasks.js";
import { Frames } from "./wire.js";

const TABS = ["Chat", "Card", "Tasks", "Frames"];

/** What the page holds; nothing of it outlives the page. */
class Console extends Subject {
	frames = new Frames();
	sessions = [];

	async load() {
		try {
			const { agents } = await (await fetch("agents.json")).json();
			this.sessions = agents.map((agent) => new Session(agent, this.frames));
		} catch {
			this.problem = new Error("The server cannot be reached; load the page again.");
		}
		this.changed();
		for (const session of this.sessions) session.loadCard();
	}

	/** Servers elsewhere get nothing of it. */
	use(headers, server) {
		for (const session of this.sessions.filter(({ origin }) => origin === server)) {
			session.headers = headers;
			session.loadCard();
		}
		this.changed();
	}
}

function App({ console }) {
	useChanges(console);
	const [index, setIndex] = useState(0);
	const [chosen, setTab] = useState("Chat");
	const isWide = useMedia("(width >= 60rem)");
	const tab = isWide && chosen === "Chat" ? "Card" : chosen;
	const { sessions, frames, problem } = console;
	const session = sessions[index];
	return html`
		<header>
			<h1><img src="icon.svg" alt="" /><span>A2A console</span></h1>
			${sessions.length > 1 && html`<select aria-label="Agent" value=${String(index)} onChange=${(event) => setIndex(Number(event.target.value))}>
				${sessions.map(({ agent }, at) => html`<option value=${String(at)}>${agent.name}</option>`)}
			</select>`}
			<span class="space" />
			${session && html`<${Headers} console=${console} session=${session} key=${session.origin} />`}
			<${Theme} />
		</header>
		<${Problem} of=${problem} />
		${session && html`<main data-tab=${tab}>
			<${Tabs} tabs=${isWide ? TABS.slice(1) : TABS} tab=${tab} setTab=${setTab} />
			<${Chat} session=${session} key=${`chat ${index}`} />
			<aside role="tabpanel" id="panel" aria-label=${tab}><${Safe} key=${tab + index}>
				${tab === "Card" && html`<${Card} session=${session} key=${index} />`}
				${tab === "Tasks" && html`<${Tasks} session=${session} key=${index} onOpen=${() => setTab("Chat")} />`}
				${tab === "Frames" && html`<${FramesView} frames=${frames} sessions=${sessions} />`}
			<//></aside>
		</main>`}`;
}

function useMedia(text) {
	const [query] = useState(() => matchMedia(text));
	const [matches, setMatches] = useState(query.matches);
	useEffect(() => {
		query.onchange = () => setMatches(query.matches);
	}, []);
	return matches;
}

function Tabs({ tabs, tab, setTab }) {
	const bar = useRef(null);
	const onKeyDown = ({ key }) => {
		const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
		if (!step) return;
		const next = (tabs.indexOf(tab) + step + tabs.length) % tabs.length;
		setTab(tabs[next]);
		bar.current.children[next].focus();
	};
	return html`<nav role="tablist" aria-label="Views" ref=${bar} onKeyDown=${onKeyDown}>
		${tabs.map((name) => html`<button role="tab" aria-selected=${String(tab === name)} aria-controls="panel" tabindex=${tab === name ? 0 : -1} onClick=${() => setTab(name)}>${name}</button>`)}
	</nav>`;
}

function Headers({ console, session: { headers, origin } }) {
	const dialog = useRef(null);
	const [rows, setRows] = useState(headers.length ? headers : [{ name: "Authorization", value: "" }]);
	const set = (at, change) => setRows(rows.map((row, index) => (index === at ? { ...row, ...change } : row)));
	const use = () => {
		const trimmed = rows.map(({ name, value }) => ({ name: name.trim(), value: value.trim() }));
		console.use(trimmed.filter(({ name, value }) => /^[\w!#$%&'*+.^`|~-]+$/.test(name) && value), origin);
	};
	return html`<button onClick=${() => dialog.current.showModal()}>Headers ${headers.length > 0 && html`<span class="chip">${String(headers.length)}</span>`}</button>
		<dialog ref=${dialog} aria-label="Headers"><form method="dialog" onSubmit=${use}>
			<h2>Headers</h2>
			<p class="hint">For ${origin} only, forgotten with this page.</p>
			${rows.map(({ name, value }, at) => html`<div class="header-row">
				<input aria-label="Name" value=${name} onInput=${(event) => set(at, { name: event.target.value })} />
				<input aria-label="Value" type="password" autocomplete="off" placeholder="Bearer …" value=${value} onInput=${(event) => set(at, { value: event.target.value })} />
			</div>`)}
			<div class="buttons">
				<button type="button" onClick=${() => setRows([...rows, { name: "", value: "" }])}>Add</button>
				<span class="space" />
				<button class="primary">Use</button>
			</div>
		</form></dialog>`;
}

function Theme() {
	const isSystemDark = useMedia("(prefers-color-scheme: dark)");
	const [theme, setTheme] = useState("");
	const other = (theme || (isSystemDark ? "dark" : "light")) === "dark" ? "light" : "dark";
	const change = () => {
		document.documentElement.dataset.theme = other;
		setTheme(other);
	};
	return html`<button aria-label="Use the ${other} theme" onClick=${change}>${other === "dark" ? "☾" : "☀"}</button>`;
}

const page = new Console();
render(html`<${App} console=${page} />`, document.body);
page.load();
