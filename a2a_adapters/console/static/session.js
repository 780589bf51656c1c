// A conversation with one agent, and the calls it needs.
import { newId, Subject } from "./ui.js";
import { PROGRESS, Turn } from "./turn.js";
import { Wire } from "./wire.js";

const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 4000;
const NOT_FOUND = -32001;

export class Session extends Subject {
	draft = "";
	files = [];
	turns = [];
	contextId = "";
	abort = null;
	headers = [];

	constructor(agent, frames) {
		super();
		this.agent = agent;
		this.url = new URL(agent.path, document.baseURI).href;
		this.origin = new URL(agent.url || this.url).origin;
		this.wire = new Wire(this.url, frames, () => this.headers);
	}

	set(values) {
		Object.assign(this, values);
		this.changed();
	}

	attach(files) {
		this.set({ files: [...this.files, ...files] });
	}

	async loadCard() {
		try {
			this.set({ card: await this.wire.card(), cardError: null });
		} catch (cardError) {
			this.set({ cardError });
		}
	}

	/** Forget the conversation; what runs goes on at the agent. */
	startNew() {
		this.abort?.abort();
		this.set({ abort: null, turns: [], contextId: "" });
	}

	get running() {
		return this.abort ? this.turns.at(-1) : null;
	}

	get asking() {
		const last = this.turns.at(-1);
		return last?.asks && !this.abort ? last : null;
	}

	send(parts) {
		const { asking, contextId, card } = this;
		const message = { messageId: newId(), role: "ROLE_USER", parts };
		if (contextId) message.contextId = contextId;
		if (asking) message.taskId = asking.taskId;
		if (card?.capabilities?.extensions?.some(({ uri }) => uri === PROGRESS)) message.extensions = [PROGRESS];
		const turn = Object.assign(new Turn(), { sent: parts, message, known: asking?.artifacts ?? [] });
		turn.taskId = asking?.taskId ?? "";
		this.turns.push(turn);
		return this.retry(turn);
	}

	/** Send a message, also once more: the agent tells repeats by its id. */
	retry(turn) {
		const { wire, card } = this;
		const params = { message: turn.message };
		return this.#run(turn, async function* (signal) {
			if (card?.capabilities?.streaming ?? true) yield* wire.stream("SendStreamingMessage", params, signal);
			else yield await wire.call("SendMessage", params, signal);
		});
	}

	async open(id) {
		const task = await this.wire.call("GetTask", { id });
		this.startNew();
		const turn = new Turn();
		turn.fold({ task });
		this.set({ turns: [turn], contextId: turn.contextId });
		if (!turn.isSettled) this.follow(turn);
	}

	follow(turn) {
		return this.#run(turn, this.#subscribing(turn));
	}

	async stop() {
		const { running, abort } = this;
		if (!running) return;
		this.set({ isStopping: true });
		if (running.taskId && !running.trouble) {
			await this.cancel(running.taskId).then((task) => running.fold({ task })).catch((error) => (running.error = error));
		}
		abort.abort();
	}

	cancel(id) {
		return this.wire.call("CancelTask", { id }, AbortSignal.timeout(1e4));
	}

	list(status, contextId, pageToken) {
		const filters = Object.entries({ status, contextId, pageToken }).filter(([, value]) => value);
		return this.wire.call("ListTasks", { pageSize: 50, historyLength: 1, ...Object.fromEntries(filters) });
	}

	/** Read a task to its end: by its stream, or by asking where there is none (any more). */
	#subscribing(turn) {
		const { wire } = this;
		const params = { id: turn.taskId };
		return async function* (signal) {
			try {
				yield* wire.stream("SubscribeToTask", params, signal);
			} catch (error) {
				if (signal.aborted || error.isPassing || error.code === NOT_FOUND) throw error;
				yield { task: await wire.call("GetTask", params, signal) };
			}
		};
	}

	async #run(turn, open) {
		this.abort?.abort();
		const abort = new AbortController();
		const { signal } = abort;
		turn.error = null;
		this.set({ abort, isStopping: false });
		let pause = FIRST_PAUSE;
		while (!signal.aborted) {
			try {
				for await (const event of open(signal)) {
					if (signal.aborted) return;
					turn.fold(event);
					turn.trouble = "";
					if (!event.task) pause = FIRST_PAUSE; // who can only be asked is asked more and more seldom
					this.set({ contextId: turn.contextId || this.contextId });
				}
			} catch (error) {
				if (signal.aborted) break;
				turn.trouble = `${error.message} Trying again …`;
				if (!error.isPassing || !turn.taskId) turn.error = error;
			}
			if (signal.aborted || turn.error || turn.isSettled || !turn.taskId) break;
			this.changed();
			await rest(pause, signal);
			pause = Math.min(pause * 2, LONGEST_PAUSE);
			open = this.#subscribing(turn);
		}
		turn.trouble = "";
		if (this.abort === abort) this.set({ abort: null });
	}
}

function rest(ms, signal) {
	return new Promise((resolve) => {
		setTimeout(resolve, ms);
		signal.addEventListener("abort", resolve, { once: true });
	});
}
