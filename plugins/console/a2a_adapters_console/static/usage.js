// What a run has used: tokens and money, from the metadata of its task.
import { isObject } from "./text.js";

const number = (value) => (Number.isFinite(value) ? value : undefined);

/** Tokens, cost and model; what an agent does not tell is undefined. */
export function usageOf(metadata) {
	const { usage, cost_envelope: envelope, context_window: window, model } = isObject(metadata) ? metadata : {};
	const input = number(usage?.input_tokens);
	const output = number(usage?.output_tokens);
	const total = number(usage?.total_tokens) ?? number(input + output);
	const amount = number(envelope?.actual) ?? number(window?.cost?.amount);
	const currency = envelope?.currency ?? window?.cost?.currency ?? "USD";
	return {
		model,
		tokens: total && `${total.toLocaleString("en")} tokens`,
		split: input !== undefined && output !== undefined ? `${input.toLocaleString("en")} in, ${output.toLocaleString("en")} out` : undefined,
		cost: amount === undefined ? undefined : money(amount, currency),
	};
}

/** Tokens and cost of an entry in a bill. */
export function spentOf(spent) {
	const total = number(spent?.total_tokens);
	const amount = number(spent?.usd);
	return {
		tokens: total && `${total.toLocaleString("en")} tokens`,
		cost: amount === undefined ? undefined : money(amount, "USD"),
	};
}

function money(amount, currency) {
	try {
		return new Intl.NumberFormat("en", { style: "currency", currency, maximumSignificantDigits: 3 }).format(amount);
	} catch {
		return `${amount} ${currency}`; // not a currency
	}
}
