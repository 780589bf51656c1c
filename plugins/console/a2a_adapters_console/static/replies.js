// Answers that are messages without a task: agents do not list them, so the tab keeps them.
const keyOf = ({ contextId }) => `replies ${contextId}`;

/** What was said, with the time of the answer. */
export function repliesOf(session) {
	try {
		return JSON.parse(sessionStorage.getItem(keyOf(session))) ?? [];
	} catch {
		return [];
	}
}

export function keepReply(session, { isReply, sent, said, startedAt, took }) {
	if (!isReply || !session.contextId) return;
	const replies = [...repliesOf(session), { isReply, sent, said, startedAt, took, contextId: session.contextId }];
	try {
		sessionStorage.setItem(keyOf(session), JSON.stringify(replies));
	} catch {} // too large, or storage is forbidden
}
