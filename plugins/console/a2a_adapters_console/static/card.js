// An agent's card for people, and what `check` finds in it.
import { Copy, html, Problem, useState } from "./ui.js";
import { Tree } from "./parts.js";
import { Link, Markdown, shown } from "./text.js";

const Chip = ({ of }) => html`<span class="chip">${shown(of)}</span> `;
const Section = ({ title, of, each }) => of?.length > 0 && html`<section><h3>${title}</h3>${of.map(each)}</section>`;

export function Card({ session }) {
	const { card, cardError } = session;
	if (cardError) return html`<div class="column"><${Problem} of=${cardError}><button onClick=${() => session.loadCard()}>Try again</button><//></div>`;
	if (!card) return html`<div class="hint">Reading the card …</div>`;
	const { capabilities = {}, provider, securitySchemes = {} } = card;
	const abilities = Object.keys(capabilities).filter((name) => capabilities[name] === true);
	return html`<div class="column">
		<h2>${shown(card.name)} <small>${shown(card.version)}</small></h2>
		<${Markdown} text=${String(card.description ?? "")} />
		${provider && html`<p>by <${Link} to=${provider.url}>${shown(provider.organization)}<//></p>`}
		${card.documentationUrl && html`<${Link} to=${card.documentationUrl}>Documentation<//>`}
		<p class="buttons">${[...abilities, ...(card.signatures?.length ? ["signed"] : [])].map((of) => html`<${Chip} of=${of} />`)}</p>
		<${Section} title="Skills" of=${card.skills} each=${(skill) => html`<${Skill} skill=${skill} session=${session} />`} />
		<${Section} title="Addresses" of=${card.supportedInterfaces} each=${({ url, protocolBinding, protocolVersion }) => html`<p><${Chip} of=${`${protocolBinding} ${protocolVersion}`} /><code>${shown(url)}</code></p>`} />
		<p>${shown(card.defaultInputModes?.join(", "))} → ${shown(card.defaultOutputModes?.join(", "))}</p>
		<${Section} title="Credentials" of=${Object.keys(securitySchemes)} each=${(name) => html`<${Tree} label=${shown(name)} value=${securitySchemes[name]} />`} />
		<${Section} title="Extensions" of=${capabilities.extensions} each=${(each) => html`<${Tree} label=${shown(each.uri)} value=${each} />`} />
		<${Findings} session=${session} />
		<${Tree} label="As JSON" value=${card} />
		<p><${Copy} label="Copy JSON" text=${() => JSON.stringify(card, null, 2)} /></p>
	</div>`;
}

function Skill({ skill, session }) {
	return html`<div>
		<b>${shown(skill.name)}</b> ${skill.tags?.map((tag) => html`<${Chip} of=${tag} />`)}
		<p>${shown(skill.description)}</p>
		${skill.examples?.map((draft) => html`<button onClick=${() => session.set({ draft: String(draft) })}>${shown(draft)}</button>`)}
	</div>`;
}

function Findings({ session }) {
	const [{ isBusy, findings, problem }, tell] = useState({});
	const check = async () => {
		tell({ isBusy: true });
		await session.wire.get(session.agent.check, { method: "POST" }).then(tell, (problem) => tell({ problem }));
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
