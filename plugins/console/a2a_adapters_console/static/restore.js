// A conversation as its agent has it, and as turns.
import { recallRun } from "./runs.js";
import { Turn } from "./turn.js";

const PAGE = 50;
const MOST_PAGES = 10;

/**
 * Read the tasks of a conversation.
 * Agents that cannot list tasks are asked for those that this browser knows.
 */
export async function tasksOf(wire, contextId, ids, signal) {
	try {
		return await listed(wire, contextId, signal);
	} catch (error) {
		if (error.isPassing || signal.aborted || !ids.length) throw error;
		const read = await Promise.allSettled(ids.map((id) => wire.call("GetTask", { id }, signal)));
		const tasks = read.flatMap(({ value }) => value ?? []);
		if (!tasks.length) throw read[0].reason;
		return tasks;
	}
}

async function listed(wire, contextId, signal) {
	const tasks = [];
	let pageToken;
	for (let page = 0; page < MOST_PAGES; page++) {
		const params = { contextId, pageSize: PAGE, includeArtifacts: true, pageToken };
		const next = await wire.call("ListTasks", params, signal);
		tasks.push(...(next.tasks ?? []));
		pageToken = next.nextPageToken;
		if (!pageToken) break;
	}
	return tasks;
}

/** Turns of tasks and of replies without one, in the order of their answers. */
export function turnsOf(tasks, replies) {
	const turns = tasks.map((task) => {
		const turn = new Turn();
		turn.fold({ task });
		recallRun(turn);
		return [Date.parse(task.status?.timestamp) || 0, turn];
	});
	const others = replies.map((reply) => [reply.startedAt + reply.took, Object.assign(new Turn(), reply)]);
	return [...turns, ...others].sort(([one], [other]) => one - other).map(([, turn]) => turn);
}
