// An agent's card as a person reads it, and what `check` finds in it.
import { Copy, html, useChanges, useState } from "./ui.js";
import { Tree } from "./parts.js";
import { Link, Markdown, shown } from "./text.js";

const CAPABILITIES = {
  streaming: "streams",
  pushNotifications: "push notifications",
  extendedAgentCard: "more for who is known",
};

export function Card({ session }) {
  useChanges(session);
  const { card, cardError } = session;
  if (cardError) {
    return html`<div class="panel"><p class="error" role="alert">${shown(cardError.message)}</p>
      <button type="button" onClick=${() => session.loadCard()}>Try again</button></div>`;
  }
  if (!card) return html`<div class="panel"><p class="hint">Reading the card …</p></div>`;
  const { capabilities = {}, provider, skills = [], supportedInterfaces = [] } = card;
  return html`<div class="panel card">
    <h2>${shown(card.name)} <small>${shown(card.version)}</small></h2>
    <${Markdown} text=${String(card.description ?? "")} />
    ${provider?.organization && html`<p>by <${Link} to=${provider.url}>${shown(provider.organization)}<//></p>`}
    ${card.documentationUrl && html`<p><${Link} to=${card.documentationUrl}>Documentation<//></p>`}
    <p class="chips">
      ${Object.entries(CAPABILITIES).map(([name, word]) => capabilities[name] && html`<span class="chip">${word}</span>`)}
      ${card.signatures?.length > 0 && html`<span class="chip">signed</span>`}
    </p>
    <${Section} title="Skills" of=${skills}>${skills.map((skill) => html`<${Skill} skill=${skill} session=${session} />`)}<//>
    <${Section} title="Addresses" of=${supportedInterfaces}>
      ${supportedInterfaces.map((each) => html`<p class="address"><span class="chip">${shown(each.protocolBinding)} ${shown(each.protocolVersion)}</span> <code>${shown(each.url)}</code></p>`)}
    <//>
    <${Section} title="Takes and gives" of=${[1]}>
      <p>${modes(card.defaultInputModes)} → ${modes(card.defaultOutputModes)}</p>
    <//>
    <${Section} title="Credentials" of=${Object.keys(card.securitySchemes ?? {})}>
      ${Object.entries(card.securitySchemes ?? {}).map(([name, scheme]) => html`<p><b>${shown(name)}</b> ${shown(credentials(scheme))}</p>`)}
    <//>
    <${Section} title="Extensions" of=${capabilities.extensions ?? []}>
      ${(capabilities.extensions ?? []).map((each) => html`<p><code>${shown(each.uri)}</code>${each.required && html` <span class="chip">required</span>`} ${shown(each.description)}</p>`)}
    <//>
    <${Findings} session=${session} />
    <details><summary>As JSON</summary><${Copy} label="Copy" text=${() => JSON.stringify(card, null, 2)} /><${Tree} value=${card} isOpen /></details>
  </div>`;
}

function Section({ title, of, children }) {
  return of.length > 0 && html`<section><h3>${title}</h3>${children}</section>`;
}

function Skill({ skill, session }) {
  const use = (text) => {
    session.draft = text;
    session.changed();
  };
  return html`<div class="skill">
    <b>${shown(skill.name)}</b> ${(skill.tags ?? []).map((tag) => html`<span class="chip">${shown(tag)}</span>`)}
    <p>${shown(skill.description)}</p>
    ${(skill.examples ?? []).map((text) => html`<button type="button" class="example" onClick=${() => use(text)}>${shown(text)}</button>`)}
  </div>`;
}

function modes(names) {
  return shown((names ?? []).join(", ") || "anything");
}

function credentials(scheme) {
  const [kind, of] = Object.entries(scheme ?? {})[0] ?? ["", {}];
  const where = { apiKeySecurityScheme: `API key in ${of?.location} ${of?.name}`, httpAuthSecurityScheme: `HTTP ${of?.scheme}`, oauth2SecurityScheme: "OAuth 2", openIdConnectSecurityScheme: "OpenID Connect", mtlsSecurityScheme: "a client certificate" };
  return [where[kind] ?? kind, of?.description].filter(Boolean).join(": ");
}

function Findings({ session }) {
  const [told, tell] = useState(null);
  if (!session.agent.check) return null;
  const check = async () => {
    tell({ isBusy: true });
    try {
      tell({ findings: await session.check() });
    } catch (error) {
      tell({ problem: error.message });
    }
  };
  return html`<section class="findings"><h3>Check</h3>
    <button type="button" disabled=${told?.isBusy} onClick=${check}>${told?.isBusy ? "Checking …" : "Check this agent"}</button>
    ${told?.problem && html`<p class="error">${shown(told.problem)}</p>`}
    ${told?.findings && (told.findings.length
      ? told.findings.map((each) => html`<div class="finding"><span class="chip ${each.severity}">${shown(each.severity)}</span> <b>${shown(each.title)}</b><p>${shown(each.detail)}</p>${each.remedy && html`<p class="hint">${shown(each.remedy)}</p>`}</div>`)
      : html`<p class="state good">nothing to mend</p>`)}
  </section>`;
}
