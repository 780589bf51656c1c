// One message and what came of it: the events of a task, folded.

export const PROGRESS = "urn:a2a-adapters:extension:progress:v1";

const ENDED = new Set(["COMPLETED", "FAILED", "REJECTED", "CANCELED"].map((s) => `TASK_STATE_${s}`));
const ASKING = new Set(["INPUT_REQUIRED", "AUTH_REQUIRED"].map((s) => `TASK_STATE_${s}`));

export class Turn {
  constructor(sent) {
    this.sent = sent; // the user's parts; null for a task that was begun elsewhere
    this.taskId = "";
    this.contextId = "";
    this.state = "";
    this.artifacts = [];
    this.known = []; // those that the task had before
    this.said = null; // the message of the state, or in place of a task
    this.steps = [];
    this.history = [];
    this.metadata = {};
    this.error = null;
    this.trouble = "";
    this.began = performance.now();
    this.took = 0;
  }

  /** The artifacts that came with this message. */
  get fresh() {
    const known = new Set(this.known.map((artifact) => JSON.stringify(artifact)));
    return this.artifacts.filter((artifact) => !known.has(JSON.stringify(artifact)));
  }

  get hasEnded() {
    return ENDED.has(this.state) || this.isReply;
  }

  get asks() {
    return ASKING.has(this.state);
  }

  get isSettled() {
    return this.hasEnded || this.asks;
  }

  /** Take an event of a stream (A2A 1.0, section 3.2.3). */
  fold(event) {
    if (event.task) this.#foldTask(event.task);
    else if (event.message) this.#foldReply(event.message);
    else if (event.statusUpdate) this.#foldStatus(event.statusUpdate);
    else if (event.artifactUpdate) this.#foldArtifact(event.artifactUpdate);
    this.took = performance.now() - this.began;
  }

  #foldTask(task) {
    this.taskId = task.id;
    this.contextId = task.contextId;
    this.artifacts = (task.artifacts ?? []).map(joined);
    this.history = task.history ?? [];
    this.metadata = task.metadata ?? {};
    this.#setStatus(task.status ?? {});
  }

  #foldReply(message) {
    this.isReply = true;
    this.said = message;
    this.contextId = message.contextId ?? "";
  }

  #foldStatus({ taskId, contextId, status = {}, metadata }) {
    this.taskId ||= taskId;
    this.contextId ||= contextId;
    if (metadata) this.metadata = { ...this.metadata, ...metadata };
    if (status.message?.extensions?.includes(PROGRESS)) this.#foldStep(status.message.parts ?? []);
    else this.#setStatus(status);
  }

  #setStatus({ state, message }) {
    const isWord = message?.parts?.length && !ENDED.has(state) && !ASKING.has(state);
    if (isWord) this.steps.push({ kind: "note", text: textOf(message.parts), at: new Date() });
    this.state = state ?? this.state;
    this.said = isWord ? this.said : (message ?? null);
  }

  #foldStep(parts) {
    const at = new Date();
    const data = parts.findLast((part) => "data" in part)?.data ?? {};
    if (data.type === "tool_call") {
      this.steps.push({ kind: "tool", id: data.id, name: data.name, given: data.arguments, at });
    } else if (data.type === "tool_result") {
      let step = this.steps.findLast((s) => s.kind === "tool" && s.id === data.id && !s.done);
      if (!step) this.steps.push((step = { kind: "tool", id: data.id, name: data.name, at }));
      Object.assign(step, { done: at, result: data.result, isError: data.is_error });
    } else {
      this.steps.push({ kind: "step", text: textOf(parts), data: data.data, at });
    }
  }

  #foldArtifact({ taskId, contextId, artifact, append }) {
    this.taskId ||= taskId;
    this.contextId ||= contextId;
    const known = this.artifacts.findIndex((each) => each.artifactId === artifact.artifactId);
    if (known < 0) this.artifacts.push(joined(artifact));
    else if (!append) this.artifacts[known] = joined(artifact);
    else for (const part of artifact.parts ?? []) add(this.artifacts[known].parts, part);
  }
}

/** The question's data parts and what may be answered: a schema, or a choice of words. */
export function question(message) {
  const values = (message?.parts ?? []).filter((part) => "data" in part).map((part) => part.data);
  const schema = values.map((value) => value?.response_schema ?? value?.requestedSchema).find(isObject);
  const configs = values.flatMap((v) => v?.value?.review_configs ?? v?.review_configs ?? []);
  const words = configs[0]?.allowed_decisions;
  return { schema, words: Array.isArray(words) ? words.filter((w) => w !== "edit") : [] };
}

function isObject(value) {
  return typeof value === "object" && value !== null;
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
  const last = parts.at(-1);
  const goesOn = typeof part.text === "string" && typeof last?.text === "string";
  if (goesOn && !part.metadata && !last.metadata && part.mediaType === last.mediaType) {
    parts[parts.length - 1] = { ...last, text: last.text + part.text };
  } else parts.push(part);
}
