// A place to fill in, of a form or of an interface.
import { html } from "./ui.js";
import { shown } from "./text.js";

/** `onValue` gets what `read` makes of a text, whether a box is checked, or a list of what was chosen. */
export function Field({ label, hint, options, value, type, read = String, onValue, ...more }) {
	const onInput = ({ target }) => {
		target.setCustomValidity("");
		try {
			if (options) onValue([...target.selectedOptions].flatMap((each) => options[each.value]?.value ?? []));
			else onValue(type === "checkbox" ? target.checked : target.value && read(target.value));
		} catch {
			target.setCustomValidity("Lists and objects are written as JSON.");
		}
	};
	return html`<label class="field">
		<b>${label}</b>
		${options
			? html`<select ...${more} onInput=${onInput}>
				${!more.multiple && html`<option value="">–</option>`}
				${options.map((each, at) => html`<option value=${at} selected=${[value].flat().includes(each.value)}>${shown(each.title)}</option>`)}
			</select>`
			: html`<${type ? "input" : "textarea"} type=${type} ...${more} value=${value} onInput=${onInput} />`}
		${hint && html`<small>${shown(hint)}</small>`}
	</label>`;
}
