// A form for what a JSON schema describes.
import { html, useState } from "./ui.js";
import { shown } from "./text.js";

export function Form({ schema, onAnswer }) {
	const [problem, setProblem] = useState("");
	const root = resolved(schema, schema);
	const isRecord = root.properties || root.type === "object";
	const properties = isRecord ? (root.properties ?? {}) : { answer: root };
	const needed = isRecord ? (root.required ?? []) : ["answer"];
	// The protocol's objects have no order: needed ones come first.
	const names = [...new Set([...needed, ...Object.keys(properties)])].filter((name) => properties[name]);
	const fields = names.map((name) => [name, resolved(properties[name], schema)]);
	const submit = (event) => {
		event.preventDefault();
		const data = new FormData(event.target);
		try {
			const given = fields.map(([name, field]) => [name, typed(data.getAll(name), field)]);
			const answer = Object.fromEntries(given.filter(([, value]) => value !== undefined));
			onAnswer(isRecord ? answer : answer.answer);
		} catch {
			setProblem("Lists and objects are written as JSON.");
		}
	};
	return html`<form class="form" onSubmit=${submit}>
		${fields.map(
			([name, field]) => html`<label class="field" key=${name}>
				<b>${shown(field.title ?? name)}${!needed.includes(name) && html` <small>optional</small>`}</b>
				<${Field} name=${name} field=${field} required=${needed.includes(name)} />
				${field.description && html`<small>${shown(field.description)}</small>`}
			</label>`,
		)}
		${problem && html`<p class="error" role="alert">${problem}</p>`}
		<div><button class="primary">Answer</button></div>
	</form>`;
}

const KINDS = { email: "email", uri: "url", date: "date", number: "number", integer: "number", string: "text" };

function Field({ name, field, required }) {
	const isMany = field.type === "array";
	const options = choices(isMany ? field.items : field);
	if (options) {
		return html`<select name=${name} required=${required} multiple=${isMany}>
			${!isMany && html`<option value="">–</option>`}
			${options.map(
				({ value, title }, index) =>
					html`<option value=${String(index)} selected=${value === field.default}>${String(title)}</option>`,
			)}
		</select>`;
	}
	if (field.type === "boolean") {
		return html`<input type="checkbox" name=${name} defaultChecked=${field.default === true} />`;
	}
	const { minimum: min, maximum: max, default: begin } = field;
	const kind = KINDS[field.format] ?? KINDS[field.type];
	const value = begin === undefined || typeof begin === "string" ? begin : JSON.stringify(begin);
	if (!kind) return html`<textarea name=${name} rows="3" placeholder="JSON" required=${required} defaultValue=${value} />`;
	const step = field.type === "integer" ? 1 : "any";
	return html`<input name=${name} type=${kind} required=${required} defaultValue=${value} ...${{ min, max, step }} />`;
}

function choices(field) {
	const { enum: values, oneOf, anyOf } = field ?? {};
	if (Array.isArray(values)) return values.map((value) => ({ value, title: value }));
	const options = oneOf ?? anyOf;
	if (!Array.isArray(options) || !options.every((each) => "const" in each)) return null;
	return options.map((each) => ({ value: each.const, title: each.title ?? each.const }));
}

/** What was typed, as the schema wants it; undefined if it was nothing. */
function typed(given, field) {
	const isMany = field.type === "array";
	const options = choices(isMany ? field.items : field);
	if (options && isMany) return given.map((at) => options[at].value);
	if (field.type === "boolean") return given.length > 0;
	if (!given[0]) return undefined;
	if (options) return options[given[0]].value;
	return field.type === "string" ? given[0] : JSON.parse(given[0]);
}

/** A schema without references, and without the null that only makes it optional. */
function resolved(schema, root, depth = 0) {
	const found = { ...schema };
	if (depth > 9) return found;
	const path = String(found.$ref ?? "").match(/^#\/(.+)/)?.[1].split("/");
	const target = path?.reduce((place, key) => place?.[key], root);
	const others = Array.isArray(found.anyOf) ? found.anyOf.filter((each) => each?.type !== "null") : [];
	const only = target ?? (others.length === 1 ? others[0] : null);
	if (Array.isArray(found.type)) found.type = found.type.find((each) => each !== "null");
	return only ? { ...resolved(only, root, depth + 1), ...found, anyOf: undefined } : found;
}
