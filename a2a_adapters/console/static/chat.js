// The conversation: what was said, how it came about, and the place to say more.
import { Component } from "./vendor/preact.js";
import { html, many, size, span, State, useChanges, useEffect, useRef, useState } from "./ui.js";
import { Form } from "./form.js";
import { asParts, Parts, Tree } from "./parts.js";
import { Markdown, shown } from "./text.js";
import { question } from "./turn.js";

export function Chat({ session }) {
  useChanges(session);
  const { turns } = session;
  const [box, onScroll] = useBottom(session);
  return html`<section class="chat" aria-label="Conversation">
    <div class="turns" role="log" aria-live="polite" tabindex="0" aria-label="Messages" ref=${box} onScroll=${onScroll}>
      <div>
      ${turns.length === 0 && html`<${Welcome} session=${session} />`}
      ${turns.map((turn, index) => html`<${Safe} key=${index}><${TurnView} turn=${turn} session=${session} isLast=${turn === turns.at(-1)} /><//>`)}
      </div>
    </div>
    <${Composer} session=${session} />
  </section>`;
}

/** Stay at the end of what grows, for as long as the reader does. */
function useBottom(session) {
  const box = useRef(null);
  const stays = useRef(true);
  useEffect(() => {
    const goDown = () => {
      if (stays.current) box.current.scrollTop = box.current.scrollHeight;
    };
    const observer = new ResizeObserver(goDown);
    observer.observe(box.current);
    observer.observe(box.current.firstElementChild);
    return () => observer.disconnect();
  }, [session]);
  const onScroll = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current;
    stays.current = scrollHeight - scrollTop - clientHeight < 40;
  };
  return [box, onScroll];
}

/** One answer that cannot be shown must not take the others with it. */
class Safe extends Component {
  componentDidCatch(problem) {
    this.setState({ problem });
  }

  render({ children }, { problem }) {
    return problem ? html`<p class="error">This cannot be shown; it is in the frames.</p>` : children;
  }
}

function Welcome({ session }) {
  const { card, cardError } = session;
  const examples = (card?.skills ?? []).flatMap((skill) => skill.examples ?? []).slice(0, 4);
  const say = (text) => session.send([{ text }]);
  return html`<div class="welcome">
    <h2>${shown(card?.name ?? session.name)}</h2>
    ${cardError ? html`<p class="error">${shown(cardError.message)}</p>` : html`<p>${shown(card?.description ?? "")}</p>`}
    <div class="examples">
      ${examples.map((text) => html`<button type="button" onClick=${() => say(text)}>${shown(text)}</button>`)}
    </div>
  </div>`;
}

function TurnView({ turn, session, isLast }) {
  const isRunning = session.running === turn;
  const usage = turn.metadata.usage;
  return html`<article class="turn">
    ${turn.sent ? html`<div class="said user"><${Parts} parts=${turn.sent} /></div>` : html`<${History} turn=${turn} />`}
    <div class="said agent">
      <${Timeline} turn=${turn} isRunning=${isRunning} />
      ${turn.fresh.map((artifact) => html`<${Artifact} key=${artifact.artifactId} artifact=${artifact} />`)}
      ${turn.said && !repeats(turn) && html`<div class=${turn.asks ? "question" : "status"}>
        <${Parts} parts=${turn.asks ? turn.said.parts?.filter((part) => !("data" in part && isForForm(part))) : turn.said.parts} />
        ${turn.asks && isLast && !isRunning && html`<${Answers} turn=${turn} session=${session} />`}
      </div>`}
      ${turn.error && html`<${Problem} turn=${turn} session=${session} />`}
      ${turn.trouble && html`<p class="trouble" role="status">${shown(turn.trouble)}</p>`}
      <p class="meta">
        ${isRunning && html`<span class="dots" aria-label="working"><i></i><i></i><i></i></span>`}
        ${turn.state && html`<${State} of=${turn.state} />`}
        ${turn.took > 0 && turn.isSettled && turn.sent && html`<span>${span(turn.took)}</span>`}
        ${usage?.total_tokens > 0 && html`<span>${String(usage.total_tokens)} tokens</span>`}
        ${!isRunning && !turn.isSettled && turn.taskId && html`<button type="button" class="small" onClick=${() => session.follow(turn)}>Subscribe again</button>`}
      </p>
    </div>
  </article>`;
}

/** What was said to a task before it was opened here. */
function History({ turn }) {
  return turn.history.map(
    (message) => html`<div class="said ${message.role === "ROLE_USER" ? "user" : "agent"}"><${Parts} parts=${message.parts} /></div>`,
  );
}

function repeats(turn) {
  const last = turn.history.at(-1);
  return !turn.sent && !turn.asks && last && last.messageId === turn.said.messageId;
}

function isForForm(part) {
  return Boolean(part.data?.response_schema ?? part.data?.requestedSchema);
}

function Artifact({ artifact }) {
  const isAnswer = !artifact.name || artifact.name === "answer";
  return html`<div class="artifact">
    ${!isAnswer && html`<p class="artifact-name" title=${artifact.description}>${shown(artifact.name)}</p>`}
    <${Parts} parts=${artifact.parts} />
  </div>`;
}

function Answers({ turn, session }) {
  const { schema, words } = question(turn.said);
  const say = (text) => session.send([{ text }]);
  return html`<div class="answers">
    ${schema && html`<${Form} schema=${schema} onAnswer=${(data) => session.send([{ data }])} />`}
    ${words.map((word) => html`<button type="button" onClick=${() => say(String(word))}>${shown(word)}</button>`)}
  </div>`;
}

function Problem({ turn, session }) {
  const { code, message } = turn.error;
  return html`<p class="error" role="alert">
    ${shown(message)}${code ? html` <small>(${String(code)})</small>` : ""}
    ${turn.message && !turn.taskId && html` <button type="button" class="small" onClick=${() => session.retry(turn)}>Try again</button>`}
  </p>`;
}

function Timeline({ turn, isRunning }) {
  const { steps } = turn;
  if (!steps.length) return null;
  const tools = steps.filter(({ kind }) => kind === "tool").length;
  const words = [tools && many(tools, "tool call"), steps.length > tools && many(steps.length - tools, "step")];
  return html`<details class="timeline" open=${isRunning}>
    <summary>${words.filter(Boolean).join(", ")}</summary>
    <ol>${steps.map((step) => html`<${Step} step=${step} />`)}</ol>
  </details>`;
}

function Step({ step }) {
  if (step.kind !== "tool") {
    return html`<li class=${step.kind}>
      ${step.text && html`<${Markdown} text=${step.text} />`}
      ${step.data !== undefined && step.data !== null && html`<${Tree} value=${step.data} isOpen />`}
    </li>`;
  }
  const tone = step.isError ? "bad" : step.done ? "good" : "busy";
  return html`<li class="tool ${tone}">
    <details>
      <summary><code>${shown(step.name)}</code> ${step.done ? html`<small>${span(step.done - step.at)}</small>` : html`<small>running</small>`}</summary>
      ${step.given !== undefined && html`<div class="io"><b>given</b><${Tree} value=${step.given} isOpen /></div>`}
      ${step.done && html`<div class="io"><b>${step.isError ? "error" : "result"}</b><${Tree} value=${step.result} isOpen /></div>`}
    </details>
  </li>`;
}

function Composer({ session }) {
  const input = useRef(null);
  const picker = useRef(null);
  const [problem, setProblem] = useState("");
  const { running, asking, draft, files } = session;
  const isStopping = running?.isStopping;

  useEffect(() => {
    if (!running && !asking) input.current?.focus({ preventScroll: true });
  }, [session, running]);

  const write = (text) => {
    session.draft = text;
    session.changed();
  };
  const attach = (added) => {
    session.files = [...session.files, ...added];
    session.changed();
  };
  const send = async () => {
    const text = session.draft;
    if (session.running || (!text.trim() && !session.files.length)) return;
    try {
      const parts = [...(text.trim() ? [{ text }] : []), ...(await asParts(session.files))];
      setProblem("");
      session.draft = "";
      session.files = [];
      session.send(parts);
    } catch {
      setProblem("A file cannot be read.");
    }
  };
  const onKeyDown = (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    }
    if (event.key === "Escape" && running) session.stop();
  };
  const onPaste = (event) => {
    if (event.clipboardData.files.length) attach(event.clipboardData.files);
  };
  const onDrop = (event) => {
    event.preventDefault();
    attach(event.dataTransfer.files);
  };
  return html`<form class="composer" onSubmit=${(event) => (event.preventDefault(), send())} onDrop=${onDrop} onDragOver=${(event) => event.preventDefault()}>
    ${problem && html`<p class="error" role="alert">${problem}</p>`}
    ${files.length > 0 && html`<ul class="chosen">
      ${files.map((file) => html`<li>${shown(file.name)} <small>${size(file.size)}</small>
        <button type="button" aria-label=${`Remove ${file.name}`} onClick=${() => { session.files = files.filter((each) => each !== file); session.changed(); }}>×</button></li>`)}
    </ul>`}
    <textarea ref=${input} rows=${Math.min(8, draft.split("\n").length)} value=${draft} aria-label="Message"
      placeholder=${asking ? "Your answer" : `Message ${session.card?.name ?? session.name}`}
      onInput=${(event) => write(event.target.value)} onKeyDown=${onKeyDown} onPaste=${onPaste}></textarea>
    <div class="buttons">
      <input ref=${picker} type="file" multiple hidden onChange=${(event) => { attach(event.target.files); event.target.value = ""; }} />
      <button type="button" class="icon" title="Attach files" aria-label="Attach files" onClick=${() => picker.current.click()}>+</button>
      <button type="button" disabled=${session.turns.length === 0} onClick=${() => session.startNew()}>New conversation</button>
      <span class="space"></span>
      ${running
        ? html`<button type="button" class="stop" disabled=${isStopping} onClick=${() => session.stop()}>${isStopping ? "Stopping" : "Stop"}</button>`
        : html`<button class="primary" disabled=${!draft.trim() && !files.length}>Send</button>`}
    </div>
  </form>`;
}
