// The tasks of a conversation, as its agent has them.
const PAGE = 50;
const MOST_PAGES = 10;

/**
 * Read the tasks of a conversation, the oldest first.
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
	const time = ({ status }) => Date.parse(status?.timestamp) || 0;
	return tasks.sort((one, other) => time(one) - time(other));
}
