// What all components are made with.
import { h } from "./vendor/preact.js";
import { useEffect, useMemo, useRef, useState } from "./vendor/hooks.js";
import htm from "./vendor/htm.js";
import { shown } from "./text.js";

export const html = htm.bind(h);
export { useEffect, useMemo, useRef, useState };

/** Render the page again, in the next frame. */
export function changed() {
	cancelAnimationFrame(changed.frame);
	changed.frame = requestAnimationFrame(() => changed.render());
}

/** An id as random as a UUID; `crypto.randomUUID` is for https and this machine only. */
export const newId = () => crypto.getRandomValues(new Uint8Array(16)).toHex();

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
	return of && html`<p class="bad" role="alert">${shown(of.message)} ${children}</p>`;
}

export function Copy({ label, text }) {
	const [told, tell] = useState("");
	const copy = async () => {
		// Browsers have no clipboard for pages of other machines without https.
		tell((await navigator.clipboard?.writeText(text()).then(() => "Copied", () => "Not allowed")) ?? "Needs https");
		setTimeout(tell, 1500, "");
	};
	return html`<button type="button" class="copy" onClick=${copy}>${told || label}</button>`;
}

export const span = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

const UNITS = ["bytes", "KiB", "MiB", "GiB"];

export function size(bytes) {
	const power = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
	return `${power ? (bytes / 1024 ** power).toFixed(1) : bytes} ${bytes === 1 ? "byte" : UNITS[power]}`;
}

export const many = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
