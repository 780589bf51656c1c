// The components of A2UI's basic catalog; what is elsewhere is a link, what is unknown is data.
import { changed, html } from "./ui.js";
import { Field } from "./field.js";
import { valueOf } from "./functions.js";
import { Tree } from "./parts.js";
import { asText, Link, Markdown, shown } from "./text.js";

const MOST = 2000;
const TYPES = { longText: "", number: "number", obscured: "password" };
const LENGTHS = { date: 10, "datetime-local": 16, time: 5 };

const box = (name) => (_, { content }) => html`<div class=${name}>${content()}</div>`;
const link = ({ url, description }) => html`<${Link} to=${url}>${shown(description ?? url)}<//>`;

const field = (typeOf) => (part, { read, wrong, write }) => {
	const { value, label = part.accessibility?.label, options, min, max, variant } = part;
	const type = typeOf(part);
	const length = LENGTHS[type] ?? Infinity; // seconds and zone cannot be seen, and stay
	return html`<${Field} label=${shown(label)} hint=${wrong || (type === "range" && value)} ...${{ type, min, max }} onValue=${write} checked=${value === true}
		options=${options?.map(({ value, label }) => ({ value, title: read(label) }))} multiple=${variant === "multipleSelection"}
		value=${options ? value : asText(value).slice(0, length)} read=${type === "range" ? Number : (typed) => typed + asText(value).slice(length)} />`;
};

const COMPONENTS = {
	__proto__: null,
	Text: ({ text, variant }) => html`<${/^h\d$/.test(variant) ? "h2" : "div"}><${Markdown} text=${asText(text)} /><//>`,
	Icon: ({ name }) => html`<small>${shown(name)}</small>`,
	Divider: () => html`<hr />`,
	Image: link,
	Video: link,
	AudioPlayer: link,
	Row: box("buttons"),
	Column: box("column"),
	List: box("column"),
	Card: box("box"),
	Tabs: ({ tabs }, { read, inner, name }) => tabs.map(({ title, child }, at) => html`<details name=${name} open=${!at}><summary>${shown(read(title))}</summary>${inner(child)}</details>`),
	// Over the page it might pass for a dialog of the page.
	Modal: ({ trigger, content }, { inner, surface }) => html`<details><summary>${inner(surface.components.get(trigger)?.child)}</summary>${inner(content)}</details>`,
	Button: ({ action: { event, functionCall }, variant }, { read, content, wrong, act, isBusy }) => {
		if (event) return html`<button class=${variant} title=${wrong} disabled=${isBusy || wrong} onClick=${() => act(event)}>${content()}</button>`;
		if (functionCall.call === "openUrl") return html`<${Link} to=${read(functionCall.args.url)}>${content()}<//>`;
		throw new TypeError(functionCall.call);
	},
	TextField: field(({ variant }) => TYPES[variant] ?? "text"),
	CheckBox: field(() => "checkbox"),
	Slider: field(() => "range"),
	ChoicePicker: field(() => "text"),
	DateTimeInput: field(({ enableDate, enableTime }) => (enableTime ? (enableDate ? "datetime-local" : "time") : "date")),
};

export function Interface({ surface, session }) {
	let left = MOST;

	/** Draw a component and those in it; ids may name none, or lead in circles. */
	function draw(id, scope, above) {
		const part = surface.components.get(id);
		if (!part || above.includes(id) || above.length > 40 || left-- < 1) return null;
		const { component, value, child, children = [], checks = [] } = part;
		const absolute = (path) => (String(path).startsWith("/") ? path : `${scope}/${path}`);
		const read = (value) => valueOf(value, (path) => surface.get(absolute(path)));
		const readAll = (values = {}) => Object.fromEntries(Object.entries(values).map(([name, each]) => [name, read(each)]));
		const inner = (child, at = scope) => draw(child, at, [...above, id]);
		const content = () => {
			if (child) return inner(child);
			if (Array.isArray(children)) return children.slice(0, MOST).map((each) => inner(each));
			return read(children).slice(0, MOST).map((_, at) => inner(children.componentId, `${absolute(children.path)}/${at}`));
		};
		const write = (filled) => {
			if (value?.path) surface.set(absolute(value.path), filled);
			changed();
		};
		const act = ({ name, context }) => session.send(surface.told({ name, sourceComponentId: id, context: readAll(context) }));
		try {
			const wrong = checks.filter(({ condition = true }) => !read(condition)).map(({ message }) => message).join(" ");
			const tools = { surface, read, inner, content, write, act, wrong, isBusy: session.running, name: surface.surfaceId + id + scope };
			return COMPONENTS[component](readAll(part), tools);
		} catch {
			return html`<${Tree} value=${part} isOpen />`;
		}
	}

	return surface.isGone
		? html`<p class="hint">The agent has closed this.</p>`
		: html`<div class="column">${draw("root", "", [])}${left < 1 && html`<p class="hint">There is more in the frames.</p>`}</div>`;
}
