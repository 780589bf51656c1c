// A form for what a JSON schema describes.
import { html, useState } from "./ui.js";
import { Field } from "./field.js";
import { asText, shown } from "./text.js";

const KINDS = { email: "email", uri: "url", date: "date", number: "number", integer: "number", string: "text", boolean: "checkbox" };

export function Form({ schema, onAnswer }) {
	const root = resolved(schema, schema);
	const isRecord = root.properties || root.type === "object";
	const { properties = {}, required = [] } = isRecord ? root : { properties: { answer: root }, required: ["answer"] };
	// The protocol's objects have no order: needed ones come first.
	const names = [...new Set([...required, ...Object.keys(properties)])].filter((name) => properties[name]);
	const fields = names.map((name) => [name, resolved(properties[name], schema)]);
	// What is undefined is not sent.
	const [given, setGiven] = useState(() => Object.fromEntries(fields.map(([name, { type, default: begin }]) => [name, begin ?? (type === "boolean" ? false : undefined)])));
	const [[only, one] = []] = fields;
	const few = fields.length === 1 && one.type !== "array" ? choices(one) : null;
	if (few) return html`<div class="buttons">${few.map(({ value, title }) => html`<button onClick=${() => onAnswer(isRecord ? { [only]: value } : value)}>${shown(title)}</button>`)}</div>`;
	const submit = (event) => {
		event.preventDefault();
		onAnswer(isRecord ? given : given.answer);
	};
	return html`<form class="form column" onSubmit=${submit}>
		${fields.map(([name, field]) => {
			const { type, items, format, title = name, description, default: begin, minimum: min, maximum: max } = field;
			const isMany = type === "array";
			const isNeeded = required.includes(name);
			const options = choices(isMany ? items : field);
			const kind = KINDS[format] ?? KINDS[type];
			const onValue = (value) => setGiven({ ...given, [name]: value === "" ? undefined : options && !isMany ? value[0] : value });
			return html`<${Field} key=${name} name=${name} hint=${description} ...${{ options, min, max, onValue }} multiple=${isMany}
				label=${html`${shown(title)}${!isNeeded && html` <small>optional</small>`}`}
				required=${isNeeded && type !== "boolean"} type=${kind} read=${kind === "number" ? Number : kind ? String : JSON.parse}
				step=${type === "integer" ? 1 : "any"} checked=${given[name] === true}
				value=${options && given[name]} defaultValue=${asText(begin)} />`;
		})}
		<button class="primary">Answer</button>
	</form>`;
}

function choices(field) {
	const { enum: values, oneOf, anyOf } = field ?? {};
	if (Array.isArray(values)) return values.map((value) => ({ value, title: value }));
	const options = oneOf ?? anyOf;
	if (!Array.isArray(options) || !options.every((each) => "const" in each)) return null;
	return options.map((each) => ({ value: each.const, title: each.title ?? each.const }));
}

/** A schema without references, and without the null that only makes it optional. */
function resolved(schema, root, depth = 0) {
	const found = { ...schema };
	if (depth > 9) return found;
	const path = String(found.$ref ?? "").match(/^#\/(.+)/)?.[1].split("/");
	const target = path?.reduce((place, key) => place?.[key], root);
	const others = found.anyOf?.filter?.((each) => each?.type !== "null") ?? [];
	const only = target ?? (others.length === 1 ? others[0] : null);
	if (Array.isArray(found.type)) found.type = found.type.find((each) => each !== "null");
	return only ? { ...resolved(only, root, depth + 1), ...found, anyOf: undefined } : found;
}
