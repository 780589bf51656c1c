// Where the page is, in its address: a reload and a copied address come back to it.
// The fragment stays in the browser; no server and no log gets it.

export function readPlace(address) {
	return Object.fromEntries(new URLSearchParams(new URL(address).hash.slice(1)));
}

let kept;

/** Keep a session's agent, conversation and running task in the address. */
export function keepPlace({ agent, contextId, running }) {
	const values = { agent: agent.name, conversation: contextId, task: running?.taskId };
	const fragment = `#${new URLSearchParams(Object.entries(values).filter(([, value]) => value))}`;
	if (fragment !== kept) history.replaceState(null, "", fragment);
	kept = fragment;
}
