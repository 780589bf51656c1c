// Text of agents: never markup. Everything becomes text nodes below elements that are made here.
import { html } from "./ui.js";

const MOST_MARKDOWN = 60_000;
const MOST_SHOWN = 200_000;

// Control, zero-width and bidirectional characters, and tags: what hides words from readers.
// Joiners are left where scripts and emoji need them.
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]|(?<![\p{L}\p{M}\p{Extended_Pictographic}\ufe0f])[\u200c\u200d]/gu;

/** Text whose hidden characters are told by their numbers. */
export function shown(value) {
  const text = String(value ?? "");
  const found = [];
  let end = 0;
  for (const match of text.matchAll(HIDDEN)) {
    found.push(text.slice(end, match.index));
    const code = match[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    found.push(html`<span class="hidden-char" title="a character that cannot be seen">U+${code}</span>`);
    end = match.index + match[0].length;
  }
  return found.length ? [...found, text.slice(end)] : text;
}

/** Text as it is; the rest of a very long one is left out. */
export function Plain({ text }) {
  const all = String(text ?? "");
  const more = all.length - MOST_SHOWN;
  return html`<pre class="plain" dir="auto">${shown(all.slice(0, MOST_SHOWN))}</pre>
    ${more > 0 && html`<p class="hint">${more.toLocaleString()} more characters are in the frames.</p>`}`;
}

/** A link to the web, if it is one; a word otherwise. */
export function Link({ to, children }) {
  const url = webAddress(to);
  if (!url) return html`<span title="not an address of the web">${children}</span>`;
  return html`<a href=${url} target="_blank" rel="noopener noreferrer nofollow" title=${url}>${children}</a>`;
}

function webAddress(text) {
  try {
    const url = new URL(String(text));
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : "";
  } catch {
    return "";
  }
}

/** The usual part of Markdown. */
export function Markdown({ text }) {
  if (text.length > MOST_MARKDOWN) return html`<${Plain} text=${text} />`;
  return html`<div class="markdown" dir="auto">${blocks(text.split(/\r\n|\n|\r/))}</div>`;
}

const BULLET = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const FENCE = /^\s{0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const RULE = /^\s{0,3}(?:-{3,}|\*{3,}|_{3,})\s*$/;
const ROW = /^\s*\|.*\|\s*$/;
const DEEPEST = 6;

function blocks(lines, depth = 0) {
  const found = [];
  let at = 0;
  const until = (matches) => {
    const from = at;
    while (at < lines.length && matches(lines[at])) at++;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const line = lines[at];
    const heading = /^(#{1,6})\s+(.*)$/.exec(line);
    const fence = FENCE.exec(line);
    if (!line.trim()) at++;
    else if (fence) {
      at++;
      const code = until((each) => !each.trimStart().startsWith(fence[1]));
      at++;
      found.push(html`<pre class="code" data-language=${fence[2]}><code>${shown(code.join("\n"))}</code></pre>`);
    } else if (heading) {
      at++;
      found.push(html`<p class="heading h${heading[1].length}" role="heading" aria-level=${heading[1].length + 2}>${inline(heading[2])}</p>`);
    } else if (RULE.test(line)) {
      at++;
      found.push(html`<hr />`);
    } else if (depth < DEEPEST && /^\s{0,3}>/.test(line)) {
      const quoted = until((each) => /^\s{0,3}>/.test(each)).map((each) => each.replace(/^\s*> ?/, ""));
      found.push(html`<blockquote>${blocks(quoted, depth + 1)}</blockquote>`);
    } else if (depth < DEEPEST && BULLET.test(line)) {
      const indent = /^\s*/.exec(line)[0].length;
      found.push(list(until((each) => BULLET.test(each) || (each.trim() && /^\s*/.exec(each)[0].length > indent)), depth));
    } else if (ROW.test(line) && /^\s*\|[\s:|-]+\|\s*$/.test(lines[at + 1] ?? "")) {
      found.push(table(until((each) => ROW.test(each))));
    } else {
      at++;
      const rest = until((each) => each.trim() && !starts(each, depth));
      found.push(html`<p>${inline([line, ...rest].join("\n"))}</p>`);
    }
  }
  return found;
}

function starts(line, depth) {
  const nests = depth < DEEPEST && (BULLET.test(line) || /^\s{0,3}>/.test(line));
  return nests || FENCE.test(line) || RULE.test(line) || ROW.test(line) || /^#{1,6}\s/.test(line);
}

function list(lines, depth) {
  const items = [];
  const [, indent, number] = BULLET.exec(lines[0]);
  for (const line of lines) {
    const match = BULLET.exec(line);
    if (match && match[1].length <= indent.length) items.push([match[3]]);
    else items.at(-1).push(line.slice(Math.min(indent.length + 2, line.search(/\S/))));
  }
  const content = items.map(([first, ...more]) => html`<li>${inline(first)}${blocks(more, depth + 1)}</li>`);
  return number ? html`<ol start=${Number(number)}>${content}</ol>` : html`<ul>${content}</ul>`;
}

function table([head, , ...rows]) {
  const cells = (row) => row.trim().slice(1, -1).split(/(?<!\\)\|/).map((cell) => inline(cell.trim()));
  return html`<div class="scroll"><table>
    <thead><tr>${cells(head).map((cell) => html`<th>${cell}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${cells(row).map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}

// Each alternative is bounded, so that no text makes it look back for long.
const INLINE =
  /(`{1,3})([^`]{1,2000})\1|!?\[([^[\]\n]{1,500})\]\(([^()\s]{1,2000})\)|\*\*([^*\n]{1,2000})\*\*|__([^_\n]{1,2000})__|(?<!\w)[*]([^*\s][^*\n]{0,2000})[*](?!\w)|(?<!\w)_([^_\s][^_\n]{0,2000})_(?!\w)|~~([^~\n]{1,2000})~~|\bhttps?:\/\/[^\s<>()"']{1,2000}/g;

function inline(text) {
  const found = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    const [all, , code, label, address, strong, strong2, em, em2, gone] = match;
    found.push(shown(text.slice(end, match.index)));
    end = match.index + all.length;
    if (code !== undefined) found.push(html`<code>${shown(code)}</code>`);
    else if (label !== undefined) found.push(html`<${Link} to=${address}>${shown(label)}<//>`);
    else if (strong ?? strong2) found.push(html`<strong>${inline(strong ?? strong2)}</strong>`);
    else if (em ?? em2) found.push(html`<em>${inline(em ?? em2)}</em>`);
    else if (gone !== undefined) found.push(html`<s>${shown(gone)}</s>`);
    else {
      const address = all.replace(/[.,;:!?]+$/, "");
      end -= all.length - address.length;
      found.push(html`<${Link} to=${address}>${shown(address)}<//>`);
    }
  }
  found.push(shown(text.slice(end)));
  return found;
}
