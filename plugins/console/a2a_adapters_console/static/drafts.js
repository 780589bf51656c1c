// What is typed and not sent yet; each tab has its own, until it is closed.
const key = ({ url }) => `draft ${url}`;

export function readDraft(session) {
	try {
		return sessionStorage.getItem(key(session)) ?? "";
	} catch {
		return ""; // storage may be forbidden
	}
}

export function keepDraft(session) {
	try {
		sessionStorage.setItem(key(session), session.draft);
	} catch {}
}
