// Trace contexts (https://www.w3.org/TR/trace-context/): what an agent and those it calls do for a
// message has one id in their traces and logs.
import { newId } from "./ui.js";

export function newTrace() {
	const id = newId();
	return { id, header: `00-${id}-${newId().slice(16)}-01` };
}
