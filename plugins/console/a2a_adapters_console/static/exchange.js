// A conversation as a file.
import { conversationOf, titleOf } from "./conversations.js";
import { isObject } from "./text.js";
import { Turn } from "./turn.js";

const FORMAT = "a2a-adapters conversation";
const KEPT = ["sent", "said", "known", "artifacts", "steps", "history", "state", "taskId", "contextId", "isReply", "startedAt", "took", "traceId", "metadata"];

/** The title and the JSON of a session's conversation. */
export function exported(session) {
	const { agent, url, contextId, turns } = session;
	const title = conversationOf(session)?.title ?? titleOf(turns);
	const kept = turns.map((turn) => Object.fromEntries(KEPT.map((name) => [name, turn[name]])));
	const content = { format: FORMAT, version: 1, title, agent: { name: agent.name, url: agent.url || url }, contextId, exportedAt: new Date(), turns: kept };
	return { title, text: JSON.stringify(content, null, "\t") };
}

/** The turns of a file, its context and its agent's address. */
export function imported(text) {
	const { format, version, turns, contextId, agent } = parsed(text);
	if (format !== FORMAT || !Array.isArray(turns) || !turns.every(isTurn)) throw new Error("This file is not an exported conversation.");
	if (version !== 1) throw new Error(`The file has version ${version}; this console reads version 1.`);
	const pick = (given) => Object.fromEntries(KEPT.filter((name) => given[name] != null).map((name) => [name, given[name]]));
	return {
		turns: turns.map((given) => Object.assign(new Turn(), pick(given))),
		contextId: typeof contextId === "string" ? contextId : undefined,
		agentUrl: agent?.url,
	};
}

function parsed(text) {
	try {
		return Object(JSON.parse(text));
	} catch {
		return {};
	}
}

const isList = (value) => value == null || (Array.isArray(value) && value.every(isObject));
const hasParts = (value) => isObject(value) && isList(value.parts);

function isTurn(turn) {
	if (!isObject(turn)) return false;
	const { sent, said, artifacts, history, known, steps } = turn;
	const holders = [artifacts, history, known];
	return [...holders, sent, steps].every(isList) && holders.every((list) => list?.every(hasParts) ?? true) && (said == null || hasParts(said));
}
