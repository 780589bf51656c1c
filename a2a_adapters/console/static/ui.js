// What all components are made with.
import { h } from "./vendor/preact.js";
import { useEffect, useReducer, useRef, useState } from "./vendor/hooks.js";
import htm from "./vendor/htm.js";
import { shown } from "./text.js";

export const html = htm.bind(h);
export { useEffect, useRef, useState };

export class Subject extends EventTarget {
	changed() {
		this.dispatchEvent(new Event("change"));
	}
}

/** Render again whenever a subject has changed, once per frame at most. */
export function useChanges(subject) {
	const [, render] = useReducer((count) => count + 1, 0);
	useEffect(() => {
		let frame = 0;
		const later = () => {
			cancelAnimationFrame(frame);
			frame = requestAnimationFrame(render);
		};
		subject.addEventListener("change", later);
		later();
		return () => {
			subject.removeEventListener("change", later);
			cancelAnimationFrame(frame);
		};
	}, [subject]);
}

/** An id as random as a UUID; `crypto.randomUUID` is for https and this machine only. */
export function newId() {
	const bytes = crypto.getRandomValues(new Uint8Array(16));
	return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export const STATES = {
	TASK_STATE_SUBMITTED: ["waiting", "busy"],
	TASK_STATE_WORKING: ["working", "busy"],
	TASK_STATE_INPUT_REQUIRED: ["asks you", "asks"],
	TASK_STATE_AUTH_REQUIRED: ["wants an authorisation", "asks"],
	TASK_STATE_COMPLETED: ["done", "good"],
	TASK_STATE_FAILED: ["failed", "bad"],
	TASK_STATE_REJECTED: ["declined", "bad"],
	TASK_STATE_CANCELED: ["cancelled", "calm"],
};

export function State({ of }) {
	const [word, tone] = STATES[of] ?? [of, "calm"];
	return html`<span class="state ${tone}">${shown(word)}</span>`;
}

export function Problem({ of, children }) {
	return of && html`<p class="error" role="alert">${shown(of.message)} ${children}</p>`;
}

export function Copy({ label, text }) {
	const [told, tell] = useState("");
	const copy = async () => {
		await navigator.clipboard.writeText(text());
		tell("Copied");
		setTimeout(tell, 1500, "");
	};
	return html`<button type="button" class="small" onClick=${copy}>${told || label}</button>`;
}

export function span(ms) {
	return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

export function size(bytes) {
	return bytes < 2 ** 20 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}

export function many(count, word) {
	return `${count} ${word}${count === 1 ? "" : "s"}`;
}
