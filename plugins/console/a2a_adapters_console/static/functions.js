// Values of A2UI's components: plain ones, paths into the data model, and calls of functions.
import { asText, isObject } from "./text.js";
import { BASIC_FUNCTIONS, ExpressionParser } from "./vendor/a2ui.js";

const parser = new ExpressionParser();
const functions = new Map(BASIC_FUNCTIONS.map((each) => [each.name, each]));
functions.delete("openUrl");
functions.delete("regex"); // a pattern can take for ever

/** What a value is, where `read` returns what is at a path; a call that is unknown or wrong is data. */
export function valueOf(value, read) {
	if (Array.isArray(value)) return value.map((each) => valueOf(each, read));
	if (!isObject(value)) return value;
	const { path, call, args = {} } = value;
	if (path !== undefined) return read(path);
	try {
		// Of texts that were computed there would be no end.
		if (call === "formatString") return parser.parse(args.value).map((part) => asText(valueOf(part, read))).join("");
		const { schema, execute } = functions.get(call);
		return execute(schema.parse(Object.fromEntries(Object.entries(args).map(([name, each]) => [name, valueOf(each, read)]))));
	} catch {
		return value;
	}
}
