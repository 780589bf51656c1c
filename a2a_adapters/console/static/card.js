// An agent's card as a person reads it, and what `check` finds in it.
import { html, Problem, useChanges, useState } from "./ui.js";
import { Tree } from "./parts.js";
import { Link, Markdown, shown } from "./text.js";

const CAPABILITIES = { streaming: "streams", pushNotifications: "push notifications", extendedAgentCard: "says more to callers it knows" };
const Chip = ({ of }) => html`<span class="chip">${shown(of)}</span> `;
const Section = ({ title, of, each }) => of?.length > 0 && html`<section><h3>${title}</h3>${of.map(each)}</section>`;

export function Card({ session }) {
	useChanges(session);
	const { card, cardError } = session;
	if (cardError) return html`<div class="panel"><${Problem} of=${cardError}><button onClick=${() => session.loadCard()}>Try again</button><//></div>`;
	if (!card) return html`<div class="panel hint">Reading the card …</div>`;
	const { capabilities = {}, provider, securitySchemes = {} } = card;
	const abilities = Object.keys(CAPABILITIES).filter((name) => capabilities[name]).map((name) => CAPABILITIES[name]);
	return html`<div class="panel">
		<h2>${shown(card.name)} <small>${shown(card.version)}</small></h2>
		<${Markdown} text=${String(card.description ?? "")} />
		${provider && html`<p>by <${Link} to=${provider.url}>${shown(provider.organization)}<//></p>`}
		${card.documentationUrl && html`<${Link} to=${card.documentationUrl}>Documentation<//>`}
			<p class="chips">${[...abilities, ...(card.signatures?.length ? ["signed"] : [])].map((of) => html`<${Chip} of=${of} />`)}</p>
		<${Section} title="Skills" of=${card.skills} each=${(skill) => html`<${Skill} skill=${skill} session=${session} />`} />
		<${Section} title="Addresses" of=${card.supportedInterfaces} each=${({ url, protocolBinding, protocolVersion }) => html`<p><${Chip} of=${`${protocolBinding} ${protocolVersion}`} /><code>${shown(url)}</code></p>`} />
		<${Section} title="Takes and gives" of=${[card]} each=${() => html`<p>${modes(card.defaultInputModes)} → ${modes(card.defaultOutputModes)}</p>`} />
		<${Section} title="Credentials" of=${Object.entries(securitySchemes)} each=${([name, scheme]) => html`<p><${Chip} of=${name} />${shown(credentials(scheme))}</p>`} />
		<${Section} title="Extensions" of=${capabilities.extensions} each=${({ uri, required, description }) => html`<p><code>${shown(uri)}</code> ${required && html`<${Chip} of="required" />`}${shown(description)}</p>`} />
		<${Findings} session=${session} />
		<details><summary>As JSON</summary><${Tree} value=${card} isOpen /></details>
	</div>`;
}

function Skill({ skill, session }) {
	return html`<div>
		<b>${shown(skill.name)}</b> ${skill.tags?.map((tag) => html`<${Chip} of=${tag} />`)}
		<p>${shown(skill.description)}</p>
		${skill.examples?.map((draft) => html`<button class="example" onClick=${() => session.set({ draft: String(draft) })}>${shown(draft)}</button>`)}
	</div>`;
}

const modes = (names) => shown((names ?? []).join(", ") || "anything");

function credentials(scheme) {
	const [kind, { location = "", name = "", scheme: word = "", description = "" } = {}] = Object.entries(scheme ?? {})[0] ?? [""];
	return [kind.replace("SecurityScheme", ""), word, name, location, description].filter(Boolean).join(" ");
}

function Findings({ session }) {
	const [{ isBusy, findings, problem }, tell] = useState({});
	const check = async () => {
		tell({ isBusy: true });
		await session.wire.check(session.agent.check).then((findings) => tell({ findings })).catch((problem) => tell({ problem }));
	};
	return html`<section><h3>Check</h3>
		<button disabled=${isBusy} onClick=${check}>${isBusy ? "Checking …" : "Check this agent"}</button>
		<${Problem} of=${problem} />
		${findings?.length === 0 && html`<p class="state good">nothing to mend</p>`}
		${findings?.map((each) => html`<div class="finding">
			<span class="chip ${{ error: "bad", warning: "asks" }[each.severity]}">${shown(each.severity)}</span> ${shown(each.message)}
			<p class="hint">${shown(each.remedy)} (${shown(each.clause)}) <code>${shown(each.where)}</code></p>
		</div>`)}
	</section>`;
}
