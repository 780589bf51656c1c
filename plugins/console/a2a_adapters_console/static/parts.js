// The parts of messages and artifacts (A2A 1.0, section 4.1.6).
import { Copy, html, many, size, useEffect, useState } from "./ui.js";
import { Interface } from "./a2ui.js";
import { made } from "./surfaces.js";
import { isObject, Link, Markdown, More, Plain, shown } from "./text.js";

const IMAGES = /^image\/(png|jpeg|gif|webp|avif|bmp)$/;
const MOST = 200;

export function Parts({ parts, session }) {
	return (parts ?? []).map((part, index) => html`<${Part} key=${index} part=${part} session=${session} />`);
}

function Part({ part, session }) {
	const { text, raw, url, mediaType } = part;
	if (typeof text === "string") {
		const isPlain = mediaType && !/^text\/(x-)?(markdown|plain)/.test(mediaType);
		return text && html`<${isPlain ? Plain : Markdown} text=${text} />`;
	}
	if (raw !== undefined) return html`<${FileView} part=${part} />`;
	if (url) return html`<p><${Link} to=${url}>${shown(part.filename || url)}<//> <small>${shown(mediaType)}</small></p>`;
	const surfaces = part[made] ?? [null];
	return html`${surfaces.map((surface) => surface && html`<${Interface} surface=${surface} session=${session} />`)}
		${surfaces.includes(null) && html`<${Data} value=${part.data} schema=${part.metadata?.json_schema} />`}`;
}

/** A file that came along: images are shown, PDFs on demand; everything else is only ever saved. */
function FileView({ part: { raw, mediaType, filename } }) {
	const [file, setFile] = useState({});
	const [isOpen, setIsOpen] = useState(false);
	const isImage = IMAGES.test(mediaType);
	const isPdf = mediaType === "application/pdf";
	useEffect(() => {
		const bytes = Uint8Array.fromBase64(raw);
		// Of another type the browser might open it as a page of this server.
		const blob = new Blob([bytes], { type: isImage || isPdf ? mediaType : "application/octet-stream" });
		const url = URL.createObjectURL(blob);
		setFile({ url, size: bytes.length });
		return () => URL.revokeObjectURL(url);
	}, [raw, mediaType]);
	const name = filename || "file";
	return file.url && html`<figure>
		${isImage && html`<img src=${file.url} alt=${name} />`}
		<a href=${file.url} download=${name}>${shown(name)}</a> <small>${shown(mediaType)} ${size(file.size)}</small>
		${isPdf && html`<details onToggle=${(event) => setIsOpen(event.currentTarget.open)}><summary>Show</summary>${isOpen && html`<iframe src=${file.url} title=${name} />`}</details>`}
	</figure>`;
}

function Data({ value, schema }) {
	const fields = schema?.items?.properties ?? schema?.properties ?? {};
	const isTable = Array.isArray(value) && value.length > 0 && value.every((row) => isObject(row) && !Array.isArray(row));
	return html`<div>
		${schema?.title && html`<b>${shown(schema.title)}</b>`}
		<${isTable ? Table : Tree} value=${value} fields=${fields} isOpen />
		<div class="technical">
			<${Copy} label="Copy JSON" text=${() => JSON.stringify(value, null, 2)} />
			${schema && html`<${Tree} label="Schema" value=${schema} />`}
		</div>
	</div>`;
}

function Table({ value, fields }) {
	const rows = value.slice(0, MOST);
	const columns = [...new Set(rows.flatMap(Object.keys))].slice(0, MOST);
	const isNumeric = (name) => rows.every((row) => ["number", "undefined"].includes(typeof row[name]));
	const sides = Object.fromEntries(columns.map((name) => [name, isNumeric(name) ? "right" : ""]));
	return html`<div class="scroll"><table>
			<thead><tr>${columns.map((name) => html`<th class=${sides[name]} title=${fields[name]?.description}>${shown(name)}</th>`)}</tr></thead>
			<tbody>${rows.map((row) => html`<tr>${columns.map((name) => html`<td class=${sides[name]}>${name in row && html`<${Tree} value=${row[name]} />`}</td>`)}</tr>`)}</tbody>
		</table></div>
		<${More} of="rows" count=${value.length - MOST} />`;
}

/** A value; what is closed is not made before it is opened. */
export function Tree({ label, value, fields = {}, isOpen = false, depth = 0 }) {
	const [open, setOpen] = useState(isOpen);
	const entries = isObject(value) ? Object.entries(value) : [];
	if (!entries.length) {
		const text = typeof value === "string" ? value : JSON.stringify(value);
		return html`<span class="value">${shown(text?.slice(0, 5000))}</span>`;
	}
	return html`<details open=${open} onToggle=${(event) => setOpen(event.currentTarget.open)}>
		<summary>${label ?? many(entries.length, Array.isArray(value) ? "item" : "field")}</summary>
		${open && html`<dl>${entries.slice(0, MOST).map(
			([key, item]) => html`<div><dt title=${fields[key]?.description}>${shown(key)}</dt>
				<dd><${Tree} value=${item} fields=${fields[key]?.properties} isOpen=${entries.length < 12 && depth < 2} depth=${depth + 1} /></dd></div>`,
		)}</dl>`}
	</details>`;
}

export function asParts(files) {
	return Promise.all(
		files.map(async (file) => ({
			raw: new Uint8Array(await file.arrayBuffer()).toBase64(),
			filename: file.name,
			mediaType: file.type || "application/octet-stream",
		})),
	);
}

/** The files of parts that were sent, to be sent again. */
export function filesOf(parts) {
	const files = parts.filter(({ raw }) => raw !== undefined);
	return files.map(({ raw, filename, mediaType }) => new File([Uint8Array.fromBase64(raw)], filename ?? "file", { type: mediaType }));
}
