// The timelines and durations of this tab's runs, so that a reload keeps them: agents do not store progress.
const keyOf = ({ taskId }) => `run ${taskId}`;

/** A task has a run for each message, told apart by their traces. */
function read(turn) {
	try {
		return JSON.parse(sessionStorage.getItem(keyOf(turn))) ?? {};
	} catch {
		return {};
	}
}

export function keepRun(turn) {
	const { taskId, steps, startedAt, traceId, took, isRecalled } = turn;
	if (!taskId) return;
	const runs = { ...(isRecalled ? {} : read(turn)), [traceId]: { steps, startedAt, traceId, took } };
	try {
		sessionStorage.setItem(keyOf(turn), JSON.stringify(runs));
	} catch {} // too large, or storage is forbidden
}

/** Give a turn that was read from the agent the steps of all its task's runs. */
export function recallRun(turn) {
	const runs = Object.values(read(turn));
	if (!runs.length) return;
	const last = runs.at(-1);
	const { startedAt } = runs[0];
	const took = last.startedAt + last.took - startedAt;
	const steps = [...runs.flatMap(({ steps }) => steps), ...turn.steps];
	const lasted = runs.reduce((sum, run) => sum + run.took, 0); // without the time of questions
	Object.assign(turn, { steps, startedAt, took, lasted, traceId: last.traceId, isRecalled: true });
}
