// One message and what came of it: the events of a task, folded.

export const PROGRESS = "urn:a2a-adapters:extension:progress:v1";

const ENDED = /COMPLETED|FAILED|REJECTED|CANCELED/;
const ASKING = /INPUT_REQUIRED|AUTH_REQUIRED/;

export class Turn {
	sent = null; // the user's parts; nothing for a task that was begun elsewhere
	taskId = "";
	contextId = "";
	state = "";
	artifacts = [];
	known = []; // those that the task had before
	said = null; // the message of the state, or in place of a task
	steps = [];
	history = [];
	error = null;
	trouble = "";
	began = performance.now();
	took = 0;

	get fresh() {
		const known = new Set(this.known.map((artifact) => JSON.stringify(artifact)));
		return this.artifacts.filter((artifact) => !known.has(JSON.stringify(artifact)));
	}

	get hasEnded() {
		return this.isReply || ENDED.test(this.state);
	}

	get asks() {
		return ASKING.test(this.state);
	}

	get isSettled() {
		return this.hasEnded || this.asks;
	}

	/** Take an event of a stream (A2A 1.0, section 3.2.3). */
	fold({ task, message, statusUpdate, artifactUpdate }) {
		this.taskId = task?.id ?? statusUpdate?.taskId ?? artifactUpdate?.taskId ?? this.taskId;
		const { contextId } = task ?? message ?? statusUpdate ?? artifactUpdate ?? {};
		this.contextId = contextId || this.contextId;
		if (task) {
			this.artifacts = (task.artifacts ?? []).map(joined);
			this.history = task.history ?? [];
			this.#setStatus(task.status ?? {});
		} else if (message) {
			this.isReply = true;
			this.said = message;
		} else if (statusUpdate) {
			const { status = {} } = statusUpdate;
			if (status.message?.extensions?.includes(PROGRESS)) this.#foldStep(status.message.parts ?? []);
			else this.#setStatus(status);
		} else if (artifactUpdate) this.#foldArtifact(artifactUpdate);
		this.took = performance.now() - this.began;
	}

	#setStatus({ state = this.state, message }) {
		this.state = state;
		if (this.isSettled) this.said = message;
		else if (message?.parts?.length) this.steps.push({ text: textOf(message.parts), at: new Date() });
	}

	#foldStep(parts) {
		const at = new Date();
		const { type, id, name, arguments: given, result, is_error: isError, data } = parts.at(-1)?.data ?? {};
		const step = this.steps.findLast((each) => each.name && each.id === id && !each.done);
		if (type === "tool_result" && step) Object.assign(step, { done: at, result, isError });
		else if (name) this.steps.push({ id, name, given, at, ...(type === "tool_result" && { done: at, result, isError }) });
		else this.steps.push({ text: textOf(parts), data, at });
	}

	#foldArtifact({ artifact, append }) {
		const known = this.artifacts.findIndex((each) => each.artifactId === artifact.artifactId);
		if (known < 0) this.artifacts.push(joined(artifact));
		else if (!append) this.artifacts[known] = joined(artifact);
		else for (const part of artifact.parts ?? []) add(this.artifacts[known].parts, part);
	}
}

/** How a question may be answered: by what a schema describes, by one of some words. */
export function answers(message) {
	const values = (message?.parts ?? []).map((part) => part.data?.value ?? part.data);
	const schemas = (message?.parts ?? []).map(schemaOf);
	const words = values.flatMap((value) => value?.review_configs ?? [])[0]?.allowed_decisions;
	return { schema: schemas.find(Boolean), words: Array.isArray(words) ? words.filter((word) => word !== "edit") : [] };
}

export function schemaOf(part) {
	const schema = part.data?.response_schema;
	return typeof schema === "object" ? schema : null;
}

export function textOf(parts) {
	return (parts ?? []).map((part) => part.text ?? "").join("");
}

function joined(artifact) {
	const parts = [];
	for (const part of artifact.parts ?? []) add(parts, part);
	return { ...artifact, parts };
}

/** Append a part; text goes on where the text before it ended. */
function add(parts, part) {
	const last = parts.at(-1) ?? {};
	const goesOn = typeof part.text === "string" && typeof last.text === "string";
	if (goesOn && !part.metadata && !last.metadata && part.mediaType === last.mediaType) {
		parts[parts.length - 1] = { ...last, text: last.text + part.text };
	} else parts.push(part);
}
