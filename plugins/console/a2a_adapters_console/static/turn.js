// One message and what came of it.
import { isObject } from "./text.js";

export const PROGRESS = "urn:a2a-adapters:extension:progress:v1";

export class Turn {
	sent; // the user's parts; nothing for a task that was begun elsewhere
	said; // the message of the state, or in place of a task
	known; // the artifacts that the task had before
	artifacts = [];
	steps = [];
	metadata; // the task's, such as the tokens that it used
	history = [];
	startedAt = Date.now();

	get fresh() {
		const known = new Set(this.known?.map((artifact) => JSON.stringify(artifact)));
		const isWithdrawn = ({ parts }) => parts.every(({ text }) => text === "");
		return this.artifacts.filter((artifact) => !known.has(JSON.stringify(artifact)) && !isWithdrawn(artifact));
	}

	/** Drop what a later turn of the task has corrected: it is shown there. */
	dropCorrected(artifacts) {
		const now = new Map(artifacts.map(({ artifactId, parts }) => [artifactId, textOf(parts)]));
		this.artifacts = this.artifacts.filter(({ artifactId, parts }) => now.get(artifactId)?.startsWith(textOf(parts)) ?? true);
	}

	get asks() {
		return /_REQUIRED$/.test(this.state);
	}

	get isSettled() {
		return this.isReply || this.asks || /(COMPLETED|FAILED|REJECTED|CANCELED)$/.test(this.state);
	}

	/** Whether the agent has answered and waits for nothing. */
	get isDone() {
		return Boolean(this.isReply) || /COMPLETED$/.test(this.state);
	}

	/** Take an event of a stream (A2A 1.0, section 3.2.3). */
	fold({ task, message, statusUpdate, artifactUpdate }) {
		const { taskId = this.taskId, contextId } = task ?? statusUpdate ?? artifactUpdate ?? message ?? {};
		this.taskId = task?.id ?? taskId;
		this.contextId = contextId || this.contextId;
		if (task) {
			this.artifacts = (task.artifacts ?? []).map(joined);
			this.history = task.history ?? [];
			this.#addMetadata(task.metadata);
			this.#setStatus(task.status ?? {});
		} else if (message) {
			this.isReply = true;
			this.said = message;
			this.#addMetadata(message.metadata);
		} else if (statusUpdate) {
			const { status = {}, metadata } = statusUpdate;
			this.#addMetadata(metadata);
			if (status.message?.extensions?.includes(PROGRESS)) this.#foldStep(status.message.parts ?? []);
			else this.#setStatus(status);
		} else if (artifactUpdate) this.#foldArtifact(artifactUpdate);
		this.took = Date.now() - this.startedAt;
	}

	#addMetadata(metadata) {
		if (metadata) this.metadata = { ...this.metadata, ...metadata };
	}

	#setStatus({ state = this.state, message }) {
		this.state = state;
		if (this.isSettled) {
			this.said = message;
			this.#addMetadata(message?.metadata);
		} else if (message?.parts?.length) this.steps.push({ text: textOf(message.parts), at: Date.now() });
	}

	#foldStep(parts) {
		const at = Date.now();
		const { type, id, name, arguments: given, result, is_error: isError, data } = parts.at(-1)?.data ?? {};
		const step = this.steps.findLast((each) => each.name && each.id === id && !each.done);
		const outcome = type === "tool_result" && { done: at, result, isError };
		if (outcome && step) Object.assign(step, outcome);
		else if (name) this.steps.push({ id, name, given, at, ...outcome });
		else this.steps.push({ text: textOf(parts), data, at });
	}

	#foldArtifact({ artifact, append }) {
		const known = this.artifacts.findIndex((each) => each.artifactId === artifact.artifactId);
		if (known < 0) this.artifacts.push(joined(artifact));
		else if (!append) this.artifacts[known] = joined(artifact);
		else for (const part of artifact.parts ?? []) add(this.artifacts[known].parts, part);
	}
}

export function answers({ parts = [] }) {
	const values = parts.map(({ data }) => data?.value ?? data);
	const allowed = values.flatMap((value) => value?.review_configs ?? [])[0]?.allowed_decisions ?? [];
	const actions = values.flatMap((value) => value?.action_requests ?? []);
	const isEditable = allowed.includes?.("edit") && actions.length === 1 && isObject(actions[0].args);
	const words = allowed.filter?.((word) => word !== "edit") ?? [];
	return { schema: parts.map(schemaOf).find(Boolean), words, action: isEditable ? actions[0] : null };
}

/** The schema of the arguments of a tool call, with these as defaults. */
export function argumentsOf({ args }) {
	const typeOf = (value) => (Array.isArray(value) ? "array" : value === null ? "string" : typeof value);
	return { type: "object", properties: Object.fromEntries(Object.entries(args).map(([name, value]) => [name, { type: typeOf(value), default: value }])) };
}

const SAID = ["question", "prompt", "message", "description", "options", "choices", "type", "review_configs"];

/** The parts of a question without what its text, its form and its buttons say better. */
export function asked(parts = []) {
	return parts.flatMap((part) => {
		const { interrupt_id: id, value } = part.data ?? {};
		if (!id) return schemaOf(part) ? [] : [part];
		if (!isObject(value) || Array.isArray(value)) return [];
		const isSaid = value.action_requests?.every?.(({ description }) => description);
		const rest = Object.entries(value).filter(([name]) => !SAID.includes(name) && !(isSaid && name === "action_requests"));
		return rest.length ? [{ data: Object.fromEntries(rest) }] : [];
	});
}

export const schemaOf = ({ data }) => isObject(data?.response_schema) && data.response_schema;

export const textOf = (parts = []) => parts.map((part) => part.text ?? "").join("");

/** Parts as text to copy: words as they are, data as JSON, files by address. */
export function copyable(parts = []) {
	const texts = parts.map(({ text, data, url }) => text ?? url ?? (data === undefined ? "" : JSON.stringify(data, null, 2)));
	return texts.filter(Boolean).join("\n\n");
}

function joined(artifact) {
	const parts = [];
	for (const part of artifact.parts ?? []) add(parts, part);
	return { ...artifact, parts };
}

/** Text goes on where the text before it ended. */
function add(parts, part) {
	const last = parts.at(-1) ?? {};
	const goesOn = typeof part.text === "string" && typeof last.text === "string";
	if (goesOn && !part.metadata && !last.metadata && part.mediaType === last.mediaType) {
		parts[parts.length - 1] = { ...last, text: last.text + part.text };
	} else parts.push(part);
}
