// The parts of messages and artifacts (A2A 1.0, section 4.1.6).
import { html, many, size, useEffect, useState } from "./ui.js";
import { Link, Markdown, Plain, shown } from "./text.js";

const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"]);
const MOST_ROWS = 200;

export function Parts({ parts }) {
  return (parts ?? []).map((part, index) => html`<${Part} key=${index} part=${part} />`);
}

function Part({ part }) {
  if (typeof part.text === "string") {
    if (!part.text) return null;
    const isPlain = part.mediaType && !/^text\/(markdown|plain|x-markdown)/.test(part.mediaType);
    return isPlain ? html`<${Plain} text=${part.text} />` : html`<${Markdown} text=${part.text} />`;
  }
  if ("data" in part) return html`<${Data} value=${part.data} schema=${part.metadata?.json_schema} />`;
  if (part.raw !== undefined) return html`<${File} part=${part} />`;
  if (part.url) {
    return html`<div class="file"><${Link} to=${part.url}>${shown(part.filename || part.url)}<//>
      <small>${shown(part.mediaType || "file elsewhere")}</small></div>`;
  }
  return html`<${Data} value=${part} />`;
}

/** A file that came along: an image is shown, everything else is only ever saved. */
function File({ part }) {
  const [file, setFile] = useState(null);
  useEffect(() => {
    let bytes;
    try {
      bytes = Uint8Array.from(atob(part.raw), (char) => char.charCodeAt(0));
    } catch {
      setFile({ problem: "This file is not Base64." });
      return undefined;
    }
    const isImage = IMAGES.has(part.mediaType);
    // Of another type the browser might open it as a page of this server.
    const blob = new Blob([bytes], { type: isImage ? part.mediaType : "application/octet-stream" });
    const url = URL.createObjectURL(blob);
    setFile({ url, isImage, size: bytes.length });
    return () => URL.revokeObjectURL(url);
  }, [part.raw, part.mediaType]);
  if (!file) return null;
  if (file.problem) return html`<p class="error">${file.problem}</p>`;
  const name = part.filename || "file";
  return html`<figure class="file">
    ${file.isImage && html`<img src=${file.url} alt=${name} />`}
    <figcaption>
      <a href=${file.url} download=${name}>${shown(name)}</a>
      <small>${shown(part.mediaType || "")} ${size(file.size)}</small>
    </figcaption>
  </figure>`;
}

/** Structured data: records as a table, everything else as a tree. */
export function Data({ value, schema }) {
  const fields = schema?.items?.properties ?? schema?.properties ?? {};
  return html`<div class="data">
    ${schema?.title && html`<p class="data-title">${shown(schema.title)}</p>`}
    ${isTable(value) ? html`<${Table} rows=${value} fields=${fields} />` : html`<${Tree} value=${value} fields=${fields} isOpen />`}
    ${schema && html`<details><summary>Schema</summary><${Tree} value=${schema} isOpen /></details>`}
  </div>`;
}

function isTable(value) {
  return Array.isArray(value) && value.length > 0 && value.every(isRecord);
}

function isRecord(value) {
  return isObject(value) && !Array.isArray(value);
}

function isObject(value) {
  return typeof value === "object" && value !== null;
}

function Table({ rows, fields }) {
  const first = rows.slice(0, MOST_ROWS);
  const columns = [...new Set(first.flatMap(Object.keys))];
  return html`<div class="scroll"><table>
      <thead><tr>${columns.map((name) => html`<th title=${fields[name]?.description}>${shown(name)}</th>`)}</tr></thead>
      <tbody>
        ${first.map((row) => html`<tr>${columns.map((name) => html`<td>${name in row && html`<${Tree} value=${row[name]} />`}</td>`)}</tr>`)}
      </tbody>
    </table></div>
    ${rows.length > first.length && html`<p class="hint">${rows.length - first.length} more rows are in the frames.</p>`}`;
}

export function Tree({ value, fields = {}, isOpen }) {
  if (!isObject(value)) return html`<span class="value ${typeof value}">${leaf(value)}</span>`;
  const entries = Object.entries(value);
  if (!entries.length) return html`<span class="value">${Array.isArray(value) ? "[]" : "{}"}</span>`;
  return html`<${Branch} value=${value} entries=${entries} fields=${fields} isOpen=${isOpen} />`;
}

/** What is closed is not made before it is opened. */
function Branch({ value, entries, fields, isOpen }) {
  const [open, setOpen] = useState(Boolean(isOpen));
  const word = many(entries.length, Array.isArray(value) ? "item" : "field");
  return html`<details class="branch" open=${open} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>${word}</summary>
    ${open &&
    html`<dl>
      ${entries.slice(0, MOST_ROWS).map(
        ([key, item]) => html`<div><dt title=${fields[key]?.description}>${shown(key)}</dt>
          <dd><${Tree} value=${item} fields=${fields[key]?.properties} isOpen=${entries.length < 12} /></dd></div>`,
      )}
    </dl>`}
  </details>`;
}

function leaf(value) {
  if (typeof value === "string") return shown(value.length > 5000 ? `${value.slice(0, 5000)} …` : value);
  return String(value);
}

/** Files that the user has chosen, as parts. */
export async function asParts(files) {
  return Promise.all(
    files.map(async (file) => ({
      raw: await base64(file),
      filename: file.name,
      mediaType: file.type || "application/octet-stream",
    })),
  );
}

function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
