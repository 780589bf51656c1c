// Text of agents is never markup: it becomes text nodes in elements made here.
import { Code } from "./code.js";
import { Formula } from "./maths.js";
import { html } from "./ui.js";
import { lexer } from "./vendor/marked.js";

const MOST_MARKDOWN = 60_000;
const MOST_SHOWN = 200_000;
const MOST_HIDDEN = 200;
const NESTED = /^(?![-* \t]+$)(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])[ \t])){9}/m; // deeper than anybody writes
const MOST_MARKS = 1_500; // in a paragraph: they take quadratic time

// Characters that hide words from readers.
// Joiners and variations stay where scripts and emoji need them.
const HIDDEN =
	/[[\p{Cc}\p{DI}\u2028\u2029\ufff9-\ufffb]--[\t\n\r\u034f\u180b-\u180d\u180f\u200c\u200d\ufe00-\ufe0f]]|(?<![\p{L}\p{M}\p{Extended_Pictographic}\ufe0f])[\u200c\u200d]/gv;

export const hasHidden = (text) => text.search(HIDDEN) >= 0;

export const isObject = (value) => typeof value === "object" && value !== null;
export const asText = (value) => (isObject(value) ? JSON.stringify(value) : String(value ?? ""));

/** Text with its first hidden characters as numbers. */
export function shown(value) {
	const text = asText(value);
	const hidden = text.match(HIDDEN)?.slice(0, MOST_HIDDEN).map((char) => {
		const code = char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
		return html`<span class="hidden-char" title="cannot be seen">U+${code}</span>`;
	});
	const parts = text.split(HIDDEN);
	const rest = parts.splice(MOST_HIDDEN).join("\ufffd");
	return [...parts.flatMap((part, at) => [part, hidden?.[at]]), rest];
}

export const More = ({ of, count }) => count > 0 && html`<p class="hint">${count} more ${of} are in the frames.</p>`;

export function Plain({ text }) {
	return html`<pre class="plain" dir="auto">${shown(text.slice(0, MOST_SHOWN))}</pre><${More} of="characters" count=${text.length - MOST_SHOWN} />`;
}

export function Link({ to, children }) {
	const url = URL.canParse(to) ? new URL(to) : null;
	if (!/^https?:$/.test(url?.protocol)) return html`<span title="no address of the web">${children}</span>`;
	return html`<a href=${url.href} target="_blank" rel="noopener noreferrer nofollow" title=${url.href}>${children}</a>`;
}

export function Markdown({ text }) {
	const isTangled = text.split(/\n\s*\n/).some((each) => each.split(/[*_~.!]/).length > MOST_MARKS);
	const tokens = text.length > MOST_MARKDOWN || isTangled || NESTED.test(text) ? null : lexer(text);
	return tokens ? html`<div class="markdown" dir="auto">${tokens.map(made)}</div>` : html`<${Plain} text=${text} />`;
}

const TAGS = { paragraph: "p", heading: "h2", blockquote: "blockquote", list_item: "li", strong: "strong", em: "em", del: "del" };

/** An element for a token of Markdown; markup in it is text. */
function made({ type, text, raw, lang, tokens, href, ordered, start, items, header, rows, checked }) {
	if (type in TAGS) return html`<${TAGS[type]}>${tokens.map(made)}<//>`;
	const cells = (row, tag) => html`<tr>${row.map((cell) => html`<${tag} class=${cell.align}>${cell.tokens.map(made)}<//>`)}</tr>`;
	switch (type) {
		case "list":
			return html`<${ordered ? "ol" : "ul"} start=${start || null}>${items.map(made)}<//>`;
		case "checkbox":
			return checked ? "☑ " : "☐ ";
		case "table":
			return html`<div class="scroll"><table>
				<thead>${cells(header, "th")}</thead>
				<tbody>${rows.map((row) => cells(row, "td"))}</tbody>
			</table></div>`;
		case "code":
			return html`<${Code} text=${text} lang=${lang} />`;
		case "formula":
		case "formulas":
			return html`<${Formula} text=${text} raw=${raw} isBlock=${type === "formulas"} />`;
		case "codespan":
			return html`<code>${shown(text)}</code>`;
		case "link":
		case "image":
			return html`<${Link} to=${href}>${tokens.map(made)}<//>`;
		case "hr":
		case "br":
			return html`<${type} />`;
		default:
			return tokens ? tokens.map(made) : shown(text);
	}
}
