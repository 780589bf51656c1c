// Text of agents is never markup: it becomes text nodes in elements that are made here.
import { html } from "./ui.js";

const MOST_MARKDOWN = 60_000;
const MOST_SHOWN = 200_000;
const DEEPEST = 6;

// What hides words from readers: control, zero-width and bidirectional characters, and tags.
// Joiners stay where scripts and emoji need them.
const HIDDEN =
	/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]|(?<![\p{L}\p{M}\p{Extended_Pictographic}\ufe0f])[\u200c\u200d]/gu;

/** Text whose hidden characters are told by their numbers. */
export function shown(value) {
	return split(String(value ?? ""), HIDDEN, (text) => text, ([char]) => {
		const code = char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
		return html`<span class="hidden-char" title="cannot be seen">U+${code}</span>`;
	});
}

function split(text, pattern, between, make) {
	const found = [];
	let end = 0;
	for (const match of text.matchAll(pattern)) {
		found.push(between(text.slice(end, match.index)), make(match));
		end = match.index + match[0].length;
	}
	return [...found, between(text.slice(end))];
}

export function Plain({ text }) {
	const more = text.length - MOST_SHOWN;
	return html`<pre class="plain" dir="auto">${shown(text.slice(0, MOST_SHOWN))}</pre>
		${more > 0 && html`<p class="hint">${String(more)} more characters are in the frames.</p>`}`;
}

export function Link({ to, children }) {
	const url = URL.canParse(to) ? new URL(to) : null;
	if (!/^https?:$/.test(url?.protocol)) return html`<span title="no address of the web">${children}</span>`;
	return html`<a href=${url.href} target="_blank" rel="noopener noreferrer nofollow" title=${url.href}>${children}</a>`;
}

export function Markdown({ text }) {
	if (text.length > MOST_MARKDOWN) return html`<${Plain} text=${text} />`;
	return html`<div class="markdown" dir="auto">${blocks(text.split(/\r\n|\n|\r/), 0)}</div>`;
}

const ITEM = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const FENCE = /^\s{0,3}(`{3,}|~{3,})/;
const HEADING = /^(#{1,6})\s+(.*)$/;
const QUOTE = /^\s{0,3}> ?/;
const RULE = /^\s{0,3}(?:-{3,}|\*{3,}|_{3,})\s*$/;
const ROW = /^\s*\|.*\|\s*$/;

function blocks(lines, depth) {
	const found = [];
	let at = 0;
	const take = (matches) => {
		const from = at;
		while (at < lines.length && matches(lines[at])) at++;
		return lines.slice(from, at);
	};
	const nests = (pattern, line) => depth < DEEPEST && pattern.test(line);
	const begins = (line) => [FENCE, HEADING, RULE, ROW].some((each) => each.test(line)) || nests(ITEM, line) || nests(QUOTE, line);
	while (at < lines.length) {
		const line = lines[at];
		const fence = FENCE.exec(line)?.[1];
		const heading = HEADING.exec(line);
		if (fence) {
			at++;
			const code = take((each) => !each.trimStart().startsWith(fence));
			at++;
			found.push(html`<pre><code>${shown(code.join("\n"))}</code></pre>`);
		} else if (nests(QUOTE, line)) {
			const quoted = take((each) => QUOTE.test(each)).map((each) => each.replace(QUOTE, ""));
			found.push(html`<blockquote>${blocks(quoted, depth + 1)}</blockquote>`);
		} else if (!RULE.test(line) && nests(ITEM, line)) {
			const indent = line.search(/\S/);
			found.push(list(take((each) => ITEM.test(each) || each.search(/\S/) > indent), depth));
		} else if (ROW.test(line) && /^[\s|:-]+$/.test(lines[at + 1])) {
			found.push(table(take((each) => ROW.test(each))));
		} else {
			at++;
			if (heading) found.push(html`<h4>${inline(heading[2])}</h4>`);
			else if (RULE.test(line)) found.push(html`<hr />`);
			else if (line.trim()) found.push(html`<p>${inline([line, ...take((each) => each.trim() && !begins(each))].join("\n"))}</p>`);
		}
	}
	return found;
}

function list(lines, depth) {
	const items = [];
	const [, indent, number] = ITEM.exec(lines[0]);
	for (const line of lines) {
		const match = ITEM.exec(line);
		if (match && match[1].length <= indent.length) items.push([match[3]]);
		else items.at(-1).push(line.slice(Math.min(indent.length + 2, line.search(/\S/))));
	}
	const content = items.map(([first, ...more]) => html`<li>${inline(first)}${blocks(more, depth + 1)}</li>`);
	return number ? html`<ol start=${Number(number)}>${content}</ol>` : html`<ul>${content}</ul>`;
}

function table([head, , ...rows]) {
	const cells = (row, tag) => row.trim().slice(1, -1).split("|").map((cell) => html`<${tag}>${inline(cell.trim())}<//>`);
	return html`<div class="scroll"><table>
		<thead><tr>${cells(head, "th")}</tr></thead>
		<tbody>${rows.map((row) => html`<tr>${cells(row, "td")}</tr>`)}</tbody>
	</table></div>`;
}

// Each alternative is bounded, so that no text makes it look back for long.
const INLINE =
	/(`{1,3})([^`]{1,2000})\1|!?\[([^[\]\n]{1,500})\]\(([^()\s]{1,2000})\)|\*\*([^*\n]{1,2000})\*\*|(?<!\w)([*_])([^*_\s][^*_\n]{0,2000})\6(?!\w)|\bhttps?:\/\/[^\s<>()"'*]{1,2000}[^\s<>()"'*.,;:!?]/g;

function inline(text) {
	return split(text, INLINE, shown, ([all, , code, label, address, strong, , em]) => {
		if (code) return html`<code>${shown(code)}</code>`;
		if (strong) return html`<strong>${inline(strong)}</strong>`;
		if (em) return html`<em>${inline(em)}</em>`;
		return html`<${Link} to=${address ?? all}>${shown(label ?? all)}<//>`;
	});
}
