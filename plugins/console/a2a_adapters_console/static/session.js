// A conversation with one agent, and the calls it needs.
import { changed, newId } from "./ui.js";
import { conversationOf, noteConversation } from "./conversations.js";
import { readDraft } from "./drafts.js";
import { filesOf } from "./parts.js";
import { keepReply, repliesOf } from "./replies.js";
import { tasksOf, turnsOf } from "./restore.js";
import { keepRun } from "./runs.js";
import { A2UI, Surfaces } from "./surfaces.js";
import { PROGRESS, textOf, Turn } from "./turn.js";
import { newTrace } from "./trace.js";
import { Wire } from "./wire.js";

const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 4000;

export class Session {
	files = [];
	turns = [];
	queue = [];
	surfaces = new Surfaces();
	abort = null;
	headers = {};

	constructor(agent, frames) {
		this.agent = agent;
		this.url = new URL(agent.path, document.baseURI).href;
		this.origin = new URL(agent.url || this.url).origin;
		this.wire = new Wire(this, frames);
		this.draft = readDraft(this);
	}

	set(values) {
		Object.assign(this, values);
		changed();
	}

	attach(files) {
		this.set({ files: [...this.files, ...files] });
	}

	async loadCard() {
		try {
			this.set({ card: await this.wire.get(new URL(".well-known/agent-card.json", this.url), { cache: "no-cache" }), cardError: null });
		} catch (cardError) {
			this.set({ cardError });
		}
	}

	/** Forget the conversation; what runs goes on at the agent. */
	startNew() {
		this.abort?.abort();
		this.restoring?.abort();
		this.set({ abort: null, restoring: null, restoreError: null, turns: [], queue: [], contextId: undefined, surfaces: new Surfaces() });
	}

	/** Read a conversation from the agent, and go on with the task that runs in it. */
	async restore({ conversation, task }) {
		this.startNew();
		const restoring = new AbortController();
		const { signal } = restoring;
		this.set({ restoring, place: { conversation, task }, contextId: conversation });
		try {
			const tasks = conversation ? await this.#tasks(task, signal) : await this.#tasksAround(task, signal);
			if (!signal.aborted) this.#show(tasks);
		} catch (restoreError) {
			if (!signal.aborted) this.set({ restoreError });
		}
		if (this.restoring !== restoring) return;
		this.set({ restoring: null });
		if (!this.restoreError && !this.running && !this.asking) this.#sendNext();
	}

	async #tasksAround(id, signal) {
		const task = await this.wire.call("GetTask", { id }, signal);
		this.contextId = task.contextId;
		return task.contextId ? this.#tasks(id, signal).catch(() => [task]) : [task];
	}

	async #tasks(task, signal) {
		const known = conversationOf(this)?.tasks ?? [];
		const ids = [...new Set([...known, ...(task ? [task] : [])])];
		const hasReplies = repliesOf(this).length > 0;
		const tasks = await tasksOf(this.wire, this.contextId, ids, signal).catch((error) => {
			// Agents that only reply need not know tasks.
			if (error.isPassing || ids.length || !hasReplies) throw error;
			return [];
		});
		if (!tasks.length && !hasReplies) throw new Error("The agent does not have this conversation any more.");
		return tasks;
	}

	#show(tasks) {
		const turns = turnsOf(tasks, repliesOf(this));
		for (const turn of turns) this.surfaces.take(turn);
		this.set({ turns });
		const last = turns.at(-1);
		if (!conversationOf(this)) noteConversation(this, last.taskId);
		if (!last.isSettled) this.follow(last);
	}

	/** Show a conversation from a file; only its own agent goes on with it. */
	showImported({ turns, contextId, agentUrl }) {
		this.startNew();
		for (const turn of turns) this.surfaces.take(turn);
		this.set({ turns, contextId: agentUrl === (this.agent.url || this.url) ? contextId : undefined });
	}

	get isEmpty() {
		return !this.draft.trim() && !this.files.length;
	}

	get running() {
		return this.abort ? this.turns.at(-1) : null;
	}

	get isBusy() {
		return Boolean(this.running || this.restoring);
	}

	get asking() {
		const last = this.turns.at(-1);
		return last?.asks && !this.abort ? last : null;
	}

	/** Send a message, or keep it until the agent is done. */
	say(parts) {
		if (this.isBusy) this.set({ queue: [...this.queue, parts] });
		else this.send(parts);
	}

	/** Put a message back to where it can be changed; its files come along. */
	edit(parts) {
		this.set({ draft: textOf(parts), files: filesOf(parts) });
	}

	send(parts) {
		const { asking, contextId, card, surfaces } = this;
		const { taskId, artifacts: known } = asking ?? {};
		const spoken = card?.capabilities?.extensions?.map(({ uri }) => uri) ?? [];
		const extensions = [PROGRESS, A2UI].filter((uri) => spoken.includes(uri));
		const metadata = spoken.includes(A2UI) ? surfaces.metadata : undefined;
		const message = { messageId: newId(), role: "ROLE_USER", parts, contextId, taskId, extensions, metadata };
		const turn = Object.assign(new Turn(), { sent: parts, message, known, taskId });
		this.turns.push(turn);
		return this.retry(turn);
	}

	/** Send a message, also once more: the agent tells repeats by its id. */
	retry(turn) {
		const { wire, card } = this;
		const params = { message: turn.message };
		const trace = newTrace();
		turn.traceId = trace.id;
		return this.#run(turn, async function* (signal) {
			if (card?.capabilities?.streaming ?? true) yield* wire.stream("SendStreamingMessage", params, signal, trace);
			else yield await wire.call("SendMessage", params, signal, trace);
		});
	}

	/** Show the conversation of a task. */
	async open(id) {
		const { contextId } = await this.wire.call("GetTask", { id });
		await this.restore({ conversation: contextId, task: id });
	}

	follow(turn) {
		return this.#run(turn, this.#subscribing(turn));
	}

	async stop() {
		const { running, abort } = this;
		if (!running) return;
		this.set({ isStopping: true });
		const fold = (task) => running.fold({ task });
		if (running.taskId && !running.trouble) await this.cancel(running.taskId).then(fold).catch((error) => (running.error = error));
		abort.abort();
	}

	cancel(id) {
		return this.wire.call("CancelTask", { id }, AbortSignal.timeout(1e4));
	}

	list(filters) {
		return this.wire.call("ListTasks", { pageSize: 50, historyLength: 1, ...filters });
	}

	/** Read a task to its end: by its stream, or by asking where there is none (any more). */
	#subscribing(turn) {
		const { wire } = this;
		const params = { id: turn.taskId };
		return async function* (signal) {
			try {
				yield* wire.stream("SubscribeToTask", params, signal);
			} catch (error) {
				if (signal.aborted || error.isPassing || error.code === -32001) throw error;
				yield { task: await wire.call("GetTask", params, signal) };
			}
		};
	}

	async #run(turn, open) {
		this.abort?.abort();
		const abort = new AbortController();
		const { signal } = abort;
		turn.error = null;
		this.set({ abort, isStopping: false, restoreError: null });
		let noted = null;
		let pause = FIRST_PAUSE;
		while (!signal.aborted) {
			try {
				for await (const event of open(signal)) {
					if (signal.aborted) return;
					turn.fold(event);
					if (event.task || event.artifactUpdate) this.#correctEarlier(turn, event.artifactUpdate);
					this.surfaces.take(turn);
					turn.trouble = "";
					if (!event.task) pause = FIRST_PAUSE; // who can only be asked is asked more and more seldom
					this.set({ contextId: turn.contextId || this.contextId });
					if (turn.taskId !== noted) noteConversation(this, (noted = turn.taskId));
				}
			} catch (error) {
				if (signal.aborted) break;
				turn.trouble = `${error.message} Trying again …`;
				if (!error.isPassing || !turn.taskId) turn.error = error;
			}
			if (signal.aborted || turn.error || turn.isSettled || !turn.taskId) break;
			changed();
			await rest(pause, signal);
			pause = Math.min(pause * 2, LONGEST_PAUSE);
			open = this.#subscribing(turn);
		}
		turn.trouble = "";
		keepRun(turn);
		keepReply(this, turn);
		if (this.abort !== abort) return;
		this.set({ abort: null });
		if (turn.isDone) this.#sendNext();
	}

	#correctEarlier(turn, { append } = {}) {
		if (append) return;
		for (const each of this.turns) if (each !== turn && each.taskId === turn.taskId) each.dropCorrected(turn.artifacts);
	}

	#sendNext() {
		const [next, ...queue] = this.queue;
		if (!next) return;
		this.set({ queue });
		this.send(next);
	}
}

function rest(ms, signal) {
	return new Promise((resolve) => {
		setTimeout(resolve, ms);
		signal.addEventListener("abort", resolve, { once: true });
	});
}
