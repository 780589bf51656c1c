// A form for what a JSON schema describes.
import { html, newId, useState } from "./ui.js";
import { shown } from "./text.js";

/** Ask for a value; `onAnswer` gets it. */
export function Form({ schema, onAnswer }) {
  const root = resolved(schema, schema);
  const isRecord = root.type === "object" || root.properties;
  const required = new Set(isRecord ? (root.required ?? []) : ["answer"]);
  const fields = isRecord ? inOrder(root.properties ?? {}, required, schema) : [["answer", root]];
  const [values, setValues] = useState(() =>
    Object.fromEntries(fields.map(([name, field]) => [name, beginning(field)])),
  );
  const [problem, setProblem] = useState("");
  const [prefix] = useState(newId);

  const submit = (event) => {
    event.preventDefault();
    try {
      const answer = {};
      for (const [name, field] of fields) {
        const value = typed(values[name], field, field.title ?? name);
        if (value !== undefined) answer[name] = value;
        else if (required.has(name)) throw new Error(`${field.title ?? name} is needed.`);
      }
      setProblem("");
      onAnswer(isRecord ? answer : answer.answer);
    } catch (error) {
      setProblem(error.message);
    }
  };
  return html`<form class="form" onSubmit=${submit}>
    ${fields.map(([name, field]) => {
      const id = `${prefix}-${name}`;
      const set = (value) => setValues((old) => ({ ...old, [name]: value }));
      return html`<div class="field" key=${name}>
        <label for=${id}>${shown(field.title ?? name)}${required.has(name) ? "" : html` <small>optional</small>`}</label>
        <${Field} id=${id} field=${field} value=${values[name]} set=${set} />
        ${field.description && html`<small>${shown(field.description)}</small>`}
      </div>`;
    })}
    ${problem && html`<p class="error" role="alert">${shown(problem)}</p>`}
    <button class="primary">Answer</button>
  </form>`;
}

/** What is needed comes first: objects of the protocol have no order of their own. */
function inOrder(properties, required, root) {
  const names = new Set([...required, ...Object.keys(properties)]);
  return [...names].filter((name) => name in properties).map((name) => [name, resolved(properties[name], root)]);
}

function Field({ id, field, value, set }) {
  const options = choices(field);
  if (options) {
    return html`<select id=${id} value=${value} onChange=${(event) => set(event.target.value)}>
      <option value="">–</option>
      ${options.map(({ title }, index) => html`<option value=${String(index)}>${String(title)}</option>`)}
    </select>`;
  }
  const many = field.type === "array" && choices(field.items ?? {});
  if (many) {
    const toggle = (key, isOn) => set(isOn ? [...value, key] : value.filter((each) => each !== key));
    return html`<div class="choices" id=${id} role="group">
      ${many.map(({ title }, index) => {
        const key = String(index);
        return html`<label><input type="checkbox" checked=${value.includes(key)} onChange=${(event) => toggle(key, event.target.checked)} /> ${shown(title)}</label>`;
      })}
    </div>`;
  }
  if (field.type === "boolean") {
    return html`<input id=${id} type="checkbox" checked=${value} onChange=${(event) => set(event.target.checked)} />`;
  }
  const onInput = (event) => set(event.target.value);
  if (isNumber(field)) {
    return html`<input id=${id} type="number" step=${field.type === "integer" ? 1 : "any"} min=${field.minimum} max=${field.maximum} value=${value} onInput=${onInput} />`;
  }
  if (field.type === "string") {
    const kinds = { email: "email", uri: "url", date: "date", password: "password" };
    return html`<input id=${id} type=${kinds[field.format] ?? "text"} minlength=${field.minLength} maxlength=${field.maxLength} value=${value} onInput=${onInput} />`;
  }
  return html`<textarea id=${id} rows="3" placeholder="JSON" value=${value} onInput=${onInput} />`;
}

/** The values to choose from, each with its title. */
function choices(field) {
  if (Array.isArray(field.enum)) {
    return field.enum.map((value, index) => ({ value, title: field.enumNames?.[index] ?? value }));
  }
  const options = field.oneOf ?? field.anyOf;
  const areAll = Array.isArray(options) && options.length && options.every((each) => "const" in each);
  return areAll ? options.map((each) => ({ value: each.const, title: each.title ?? each.const })) : null;
}

function isNumber(field) {
  return field.type === "number" || field.type === "integer";
}

function beginning(field) {
  const options = choices(field);
  if (options) {
    const index = options.findIndex(({ value }) => value === field.default);
    return index < 0 ? "" : String(index);
  }
  if (field.type === "array" && choices(field.items ?? {})) return [];
  if (field.type === "boolean") return field.default === true;
  if (field.default === undefined) return "";
  const isText = typeof field.default === "string" && field.type === "string";
  return isText ? field.default : JSON.stringify(field.default);
}

/** What was typed, as the schema wants it; undefined if it was nothing. */
function typed(value, field, name) {
  const options = choices(field);
  if (options) return options[value === "" ? -1 : Number(value)]?.value;
  const many = field.type === "array" && choices(field.items ?? {});
  if (many) return many.filter((_, index) => value.includes(String(index))).map((each) => each.value);
  if (field.type === "boolean") return value;
  if (value === "") return undefined;
  if (field.type === "string") return value;
  if (isNumber(field)) return Number(value);
  try {
    return JSON.parse(value);
  } catch {
    throw new Error(`${name} is not JSON.`);
  }
}

/** A schema without references, and without the null that only makes it optional. */
function resolved(schema, root, depth = 0) {
  let found = schema ?? {};
  const path = typeof found.$ref === "string" && found.$ref.startsWith("#/") && found.$ref.slice(2).split("/");
  if (path && depth < 10) {
    const target = path.reduce((place, key) => place?.[key], root);
    found = { ...resolved(target, root, depth + 1), ...found };
  }
  const others = (found.anyOf ?? []).filter((each) => each.type !== "null");
  if (others.length === 1 && depth < 10) found = { ...resolved(others[0], root, depth + 1), ...found, anyOf: undefined };
  if (Array.isArray(found.type)) found = { ...found, type: found.type.find((each) => each !== "null") };
  return found;
}
