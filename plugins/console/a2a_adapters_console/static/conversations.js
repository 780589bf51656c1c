// The conversations of this browser: titles, ids and times. What was said stays with the agents.
import { isObject } from "./text.js";
import { textOf } from "./turn.js";
import { changed } from "./ui.js";

const KEY = "a2a-adapters.conversations";
const MOST = 500;
const MOST_TASKS = 100;
const TITLE = 80;

let kept = {};

function read() {
	try {
		const text = localStorage.getItem(KEY);
		if (text !== kept.text) kept = { text, list: parsed(text) };
		return kept.list;
	} catch {
		return []; // storage is forbidden
	}
}

function parsed(text) {
	try {
		return JSON.parse(text).filter((each) => isObject(each) && typeof each.id === "string" && typeof each.title === "string" && Array.isArray(each.tasks));
	} catch {
		return []; // nothing yet, or not ours
	}
}

function write(list) {
	try {
		localStorage.setItem(KEY, JSON.stringify(list.slice(0, MOST)));
	} catch {}
	changed();
}

const isOf = (agent, id) => (each) => each.agent === agent && each.id === id;

export const conversationsOf = ({ url }) => read().filter(({ agent }) => agent === url);

export const conversationOf = ({ url, contextId }) => read().find(isOf(url, contextId));

/** Put a session's conversation first in the list, with a task of it. */
export function noteConversation({ url, contextId, turns }, taskId) {
	if (!contextId) return;
	const list = read();
	const found = list.find(isOf(url, contextId));
	const known = found ?? { agent: url, id: contextId, title: titleOf(turns), tasks: [] };
	const tasks = taskId ? [...known.tasks.filter((each) => each !== taskId), taskId] : known.tasks;
	const noted = { ...known, tasks: tasks.slice(-MOST_TASKS), at: Date.now() };
	write([noted, ...list.filter((each) => each !== found)]);
}

export function renameConversation({ agent, id }, title) {
	write(read().map((each) => (isOf(agent, id)(each) ? { ...each, title: title.slice(0, TITLE) } : each)));
}

export function removeConversation({ agent, id }) {
	write(read().filter((each) => !isOf(agent, id)(each)));
}

/** The first words of a conversation. */
export function titleOf(turns) {
	const [first] = turns;
	const parts = first?.sent ?? first?.history.find(({ role }) => role === "ROLE_USER")?.parts;
	const files = parts?.map(({ filename }) => filename).filter(Boolean).join(", ");
	return (textOf(parts).trim().split("\n")[0] || files || "Conversation").slice(0, TITLE);
}

// Other tabs change the list, too.
addEventListener("storage", ({ key }) => key === KEY && changed());
