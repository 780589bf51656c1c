// Formulas in Markdown: $…$, $$…$$, \(…\) and \[…\], as MathML by Temml.
import { lazy } from "./lazy.js";
import { hasHidden, shown } from "./text.js";
import { html, useEffect, useRef } from "./ui.js";
import { use } from "./vendor/marked.js";

const BLOCK = /^(?:\$\$([^$]{1,4000}?)\$\$|\\\[([^]{1,4000}?)\\\])[ \t]*(?:\n|$)/;
// As in Pandoc, "$5 and $10" is no formula.
const INLINE = /^(?:\$\$([^$\n]{1,1000}?)\$\$|\$(?![\s$])([^$\n]{1,1000}?)(?<!\s)\$(?!\d)|\\\(([^\n]{1,1000}?)\\\))/;
const library = lazy(() => import("./vendor/temml.js"));

const extension = (name, level, pattern, start) => ({
	name,
	level,
	start: (source) => source.match(start)?.index,
	tokenizer(source) {
		const match = pattern.exec(source);
		return match ? { type: name, raw: match[0], text: match.slice(1).find(Boolean) } : undefined;
	},
});

use({ extensions: [extension("formulas", "block", BLOCK, /^(?:\$\$|\\\[)/m), extension("formula", "inline", INLINE, /\$|\\\(/)] });

export function Formula({ text, raw, isBlock }) {
	const place = useRef(null);
	const temml = hasHidden(text) ? null : library();
	useEffect(() => {
		if (!temml) return;
		try {
			// Without trust, there are no links, images, classes and styles.
			temml.render(text, place.current, { displayMode: isBlock, throwOnError: true, trust: false, annotate: true });
		} catch {
			place.current.textContent = raw; // not a formula
		}
	}, [temml, text]);
	// Temml's elements are not the page's to change: another formula gets another place.
	return html`<span key=${`${Boolean(temml)} ${text}`} class="formula ${isBlock ? "block" : ""}" ref=${place}>${temml ? null : shown(raw)}</span>`;
}
