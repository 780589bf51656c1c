// A form for the credentials that an agent's card asks for: a bearer token or an API key.
import { html, useRef } from "./ui.js";

export function Login({ session, onHeaders }) {
	const dialog = useRef(null);
	const ways = credentialsOf(session.card);
	if (!ways.length) return null;
	const isIn = ways.some(({ header }) => session.headers[header]);
	const use = ({ target }) => {
		const typed = ways.map(({ header, prefix }, at) => [header, target.elements[at].value.trim(), prefix]);
		const given = typed.filter(([, value]) => value).map(([header, value, prefix]) => [header, prefix + value]);
		const others = Object.entries(session.headers).filter(([name]) => ways.every(({ header }) => header !== name));
		onHeaders(Object.fromEntries([...others, ...given]));
		target.reset();
	};
	return html`<button class=${isIn ? "" : "primary"} onClick=${() => dialog.current.showModal()}>${isIn ? "Logged in" : "Log in"}</button>
		<dialog ref=${dialog} aria-label="Log in"><form class="column" method="dialog" onSubmit=${use}>
			<p class="hint">Sent to ${session.origin} only, and forgotten with this page.</p>
			${ways.map(({ label, header }) => html`<label class="field" key=${header}><b>${label}</b>
				<input type="password" autocomplete="off" required=${ways.length === 1 && !isIn} /></label>`)}
			<button class="primary">${isIn ? "Replace" : "Log in"}</button>
		</form></dialog>`;
}

/** What the card accepts that a person can type, each header once (A2A 1.0, section 4.5; 0.3, section 5.5). */
function credentialsOf(card) {
	const ways = Object.values(card?.securitySchemes ?? {}).flatMap((scheme) => {
		const key = scheme.apiKeySecurityScheme ?? (scheme.type === "apiKey" ? { ...scheme, location: scheme.in } : null);
		if (key) return key.location === "header" ? [{ label: "API key", header: String(key.name), prefix: "" }] : [];
		const http = scheme.httpAuthSecurityScheme ?? (scheme.type === "http" ? scheme : null);
		const isToken = http ? /^bearer$/i.test(http.scheme) : scheme.oauth2SecurityScheme || scheme.openIdConnectSecurityScheme || /^(oauth2|openIdConnect)$/.test(scheme.type);
		return isToken ? [{ label: "Token", header: "Authorization", prefix: "Bearer " }] : [];
	});
	return [...new Map(ways.map((way) => [way.header, way])).values()];
}
