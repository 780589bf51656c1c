// What all components are made with.
import { h } from "./vendor/preact.js";
import { useEffect, useReducer, useRef, useState } from "./vendor/hooks.js";
import htm from "./vendor/htm.js";

export const html = htm.bind(h);
export { useEffect, useRef, useState };

/** Render again whenever a subject has changed, once per frame at most. */
export function useChanges(subject) {
  const [, render] = useReducer((count) => count + 1, 0);
  useEffect(() => {
    let frame = 0;
    const later = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        render();
      });
    };
    subject.addEventListener("change", later);
    later();
    return () => {
      subject.removeEventListener("change", later);
      cancelAnimationFrame(frame);
    };
  }, [subject]);
}

/** Something that others watch. */
export class Subject extends EventTarget {
  changed() {
    this.dispatchEvent(new Event("change"));
  }
}

/** An id as random as a UUID; `crypto.randomUUID` is for https and this machine only. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const STATES = {
  SUBMITTED: ["waiting", "busy"],
  WORKING: ["working", "busy"],
  INPUT_REQUIRED: ["asks you", "asks"],
  AUTH_REQUIRED: ["wants an authorisation", "asks"],
  COMPLETED: ["done", "good"],
  FAILED: ["failed", "bad"],
  REJECTED: ["declined", "bad"],
  CANCELED: ["cancelled", "calm"],
};

/** Show the state of a task in a word. */
export function State({ of }) {
  const [word, tone] = STATES[String(of).replace("TASK_STATE_", "")] ?? [String(of), "calm"];
  return html`<span class="state ${tone}">${word}</span>`;
}

export const STATE_NAMES = Object.entries(STATES).map(([name, [word]]) => [
  `TASK_STATE_${name}`,
  word,
]);

/** A button that says for a moment that it has copied. */
export function Copy({ label, text }) {
  const [told, tell] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      tell("Copied");
    } catch {
      tell("Not allowed");
    }
    setTimeout(() => tell(""), 1500);
  };
  return html`<button type="button" class="small" onClick=${copy}>${told || label}</button>`;
}

/** The time of day with milliseconds. */
export function clock(date) {
  return date.toTimeString().slice(0, 8) + "." + String(date.getMilliseconds()).padStart(3, "0");
}

/** A length of time as people say it. */
export function span(ms) {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** So many of something. */
export function many(count, word) {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

/** A number of bytes as people say it. */
export function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 ** 2) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}
