// A conversation with one agent, and the calls it needs.
import { newId, Subject } from "./ui.js";
import { PROGRESS, Turn } from "./turn.js";
import { LostError, Wire } from "./wire.js";

const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 4000;
const NOT_FOUND = -32001;
const PAGE = 50;

export class Session extends Subject {
  constructor(agent, frames, headers) {
    super();
    this.agent = agent;
    this.name = agent.name;
    this.url = new URL(agent.path, document.baseURI).href;
    this.wire = new Wire(this.url, frames, headers);
    this.card = null;
    this.cardError = null;
    this.draft = "";
    this.files = [];
    this.startNew();
  }

  async loadCard() {
    try {
      this.card = await this.wire.card();
      this.cardError = null;
    } catch (error) {
      this.cardError = error;
    }
    this.changed();
  }

  /** Forget the conversation; what runs goes on at the agent. */
  startNew() {
    this.abort?.abort();
    this.abort = null;
    this.turns = [];
    this.contextId = "";
    this.changed();
  }

  get running() {
    return this.abort ? this.turns.at(-1) : null;
  }

  /** The task that the next message answers. */
  get asking() {
    const last = this.turns.at(-1);
    return last?.asks && !this.abort ? last : null;
  }

  send(parts) {
    const answered = this.asking;
    const message = {
      messageId: newId(),
      role: "ROLE_USER",
      parts,
      ...(this.contextId && { contextId: this.contextId }),
      ...(answered && { taskId: answered.taskId }),
    };
    if (this.card?.capabilities?.extensions?.some(({ uri }) => uri === PROGRESS)) {
      message.extensions = [PROGRESS];
    }
    const turn = new Turn(parts);
    turn.taskId = answered?.taskId ?? "";
    turn.message = message;
    turn.known = answered?.artifacts ?? [];
    this.turns.push(turn);
    return this.#run(turn, this.#sending(message));
  }

  /** Send the last message once more, as it was: the agent tells repeats by its id. */
  retry(turn) {
    turn.error = null;
    return this.#run(turn, this.#sending(turn.message));
  }

  /** Go on with a task that was begun elsewhere. */
  open(task) {
    this.startNew();
    const turn = new Turn(null);
    turn.fold({ task });
    this.contextId = task.contextId ?? "";
    this.turns.push(turn);
    this.changed();
    return turn.isSettled ? null : this.follow(turn);
  }

  /** Subscribe to a task again. */
  follow(turn) {
    turn.error = null;
    return this.#run(turn, this.#subscribing(turn));
  }

  async stop() {
    const turn = this.running;
    if (!turn) return;
    turn.isStopping = true;
    this.changed();
    if (!turn.taskId || turn.trouble) {
      this.abort.abort();
      return;
    }
    try {
      turn.fold({ task: await this.cancel(turn.taskId) });
    } catch (error) {
      turn.error = error;
    }
    this.abort?.abort();
    this.changed();
  }

  cancel(id) {
    return this.wire.call("CancelTask", { id });
  }

  get(id) {
    return this.wire.call("GetTask", { id });
  }

  list(filter, pageToken) {
    return this.wire.call("ListTasks", {
      pageSize: PAGE,
      historyLength: 1,
      ...(filter.status && { status: filter.status }),
      ...(filter.contextId && { contextId: filter.contextId }),
      ...(pageToken && { pageToken }),
    });
  }

  #sending(message) {
    const params = { message };
    const streams = this.card?.capabilities?.streaming ?? true;
    return (signal) =>
      streams
        ? this.wire.stream("SendStreamingMessage", params, signal)
        : this.#once("SendMessage", params, signal);
  }

  async *#once(method, params, signal) {
    yield await this.wire.call(method, params, signal);
  }

  /** Read a task to its end: by its stream, or by asking where there is none (any more). */
  #subscribing(turn) {
    const { wire } = this;
    return async function* subscribe(signal) {
      try {
        yield* wire.stream("SubscribeToTask", { id: turn.taskId }, signal);
      } catch (error) {
        if (signal.aborted || error.isPassing || error.code === NOT_FOUND) throw error;
        yield { task: await wire.call("GetTask", { id: turn.taskId }, signal) };
      }
    };
  }

  async #run(turn, open) {
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    this.changed();
    let pause = FIRST_PAUSE;
    for (;;) {
      try {
        for await (const event of open(abort.signal)) {
          turn.fold(event);
          turn.trouble = "";
          if (!event.task) pause = FIRST_PAUSE; // an agent that is asked again and again has a rest
          if (turn.contextId) this.contextId = turn.contextId;
          this.changed();
        }
      } catch (error) {
        if (abort.signal.aborted) break;
        if (!turn.taskId || !error.isPassing) {
          turn.error = error;
          break;
        }
        turn.trouble = `${error.message} Trying again …`;
        this.changed();
      }
      if (turn.isSettled) break;
      if (!turn.taskId) {
        turn.error ??= new LostError("The stream ended without an answer.");
        break;
      }
      await rest(pause, abort.signal);
      if (abort.signal.aborted) break;
      pause = Math.min(pause * 2, LONGEST_PAUSE);
      open = this.#subscribing(turn);
    }
    turn.trouble = "";
    turn.isStopping = false;
    if (this.abort === abort) this.abort = null;
    this.changed();
  }
}

function rest(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => resolve(clearTimeout(timer)), { once: true });
  });
}
