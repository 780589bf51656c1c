// The page: agents, the conversation with one of them, and what is to know beside it.
import { render } from "./vendor/preact.js";
import { html, Subject, useChanges, useEffect, useRef, useState } from "./ui.js";
import { Card } from "./card.js";
import { Chat } from "./chat.js";
import { FramesView } from "./frames.js";
import { Session } from "./session.js";
import { Tasks } from "./tasks.js";
import { shown } from "./text.js";
import { Frames } from "./wire.js";

const TABS = ["Chat", "Card", "Tasks", "Frames"];
const THEME = "a2a-console-theme";

/** What the page holds: nothing of it but the theme outlives the page. */
class Console extends Subject {
  headers = [];
  frames = new Frames();
  sessions = [];
  problem = "";

  async load() {
    try {
      const response = await fetch("agents.json", { cache: "no-cache" });
      const { agents } = await response.json();
      this.sessions = agents.map((agent) => new Session(agent, this.frames, () => this.headers));
      this.changed();
      this.loadCards();
    } catch {
      this.problem = "The server cannot be reached. Load the page again when it runs.";
      this.changed();
    }
  }

  loadCards() {
    for (const session of this.sessions) session.loadCard();
  }
}

function App({ console }) {
  useChanges(console);
  const [index, setIndex] = useState(0);
  const [chosen, setTab] = useState("Chat");
  const isWide = useWide();
  const tab = isWide && chosen === "Chat" ? "Card" : chosen;
  const session = console.sessions[index];
  return html`
    <header>
      <h1><img src="icon.svg" alt="" /> A2A console</h1>
      ${console.sessions.length > 1 && html`<label class="agents">
        <span>Agent</span>
        <select aria-label="Agent" value=${String(index)} onChange=${(event) => setIndex(Number(event.target.value))}>
          ${console.sessions.map(({ name }, at) => html`<option value=${String(at)}>${name}</option>`)}
        </select>
      </label>`}
      <span class="space"></span>
      <${Headers} console=${console} />
      <${Theme} />
    </header>
    ${console.problem && html`<p class="error" role="alert">${console.problem}</p>`}
    ${session && html`
      <main data-tab=${tab}>
        <${Tabs} tabs=${isWide ? TABS.slice(1) : TABS} tab=${tab} setTab=${setTab} />
        <${Chat} session=${session} key=${`chat-${index}`} />
        <aside role="tabpanel" id="panel" aria-label=${tab}>
          ${tab === "Card" && html`<${Card} session=${session} key=${index} />`}
          ${tab === "Tasks" && html`<${Tasks} session=${session} key=${index} onOpen=${() => setTab("Chat")} />`}
          ${tab === "Frames" && html`<${FramesView} frames=${console.frames} sessions=${console.sessions} />`}
        </aside>
      </main>`}`;
}

/** Whether there is room for two columns, as in the style. */
function useWide() {
  const [query] = useState(() => matchMedia("(min-width: 60rem)"));
  const [isWide, setWide] = useState(query.matches);
  useEffect(() => {
    const look = () => setWide(query.matches);
    query.addEventListener("change", look);
    return () => query.removeEventListener("change", look);
  }, []);
  return isWide;
}

function Tabs({ tabs, tab, setTab }) {
  const bar = useRef(null);
  const onKeyDown = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = (tabs.indexOf(tab) + step + tabs.length) % tabs.length;
    setTab(tabs[next]);
    bar.current.children[next].focus();
  };
  return html`<nav role="tablist" aria-label="Views" ref=${bar} onKeyDown=${onKeyDown}>
    ${tabs.map((name) => html`<button type="button" role="tab" aria-selected=${tab === name ? "true" : "false"} aria-controls="panel"
      tabindex=${tab === name ? 0 : -1} onClick=${() => setTab(name)}>${name}</button>`)}
  </nav>`;
}

/** Headers for every call, a token for instance. They are gone with the page. */
function Headers({ console }) {
  const dialog = useRef(null);
  const [rows, setRows] = useState([]);
  const open = () => {
    setRows(console.headers.length ? console.headers : [{ name: "Authorization", value: "" }]);
    dialog.current.showModal();
  };
  const set = (at, change) => setRows(rows.map((row, index) => (index === at ? { ...row, ...change } : row)));
  const save = () => {
    console.headers = rows.filter(({ name, value }) => /^[\w!#$%&'*+.^`|~-]+$/.test(name.trim()) && value.trim()).map(({ name, value }) => ({ name: name.trim(), value: value.trim() }));
    console.changed();
    console.loadCards();
  };
  const count = console.headers.length;
  return html`<button type="button" onClick=${open}>Headers${count ? html` <span class="chip">${String(count)}</span>` : ""}</button>
    <dialog ref=${dialog} aria-label="Headers">
      <form method="dialog" onSubmit=${save}>
        <h2>Headers</h2>
        <p class="hint">They go with every call to the agents, and are forgotten when this page is closed.</p>
        ${rows.map((row, at) => html`<div class="header-row">
          <input aria-label="Name" placeholder="Authorization" value=${row.name} onInput=${(event) => set(at, { name: event.target.value })} />
          <input aria-label="Value" type="password" autocomplete="off" placeholder=${/^authorization$/i.test(row.name) ? "Bearer …" : ""} value=${row.value} onInput=${(event) => set(at, { value: event.target.value })} />
        </div>`)}
        <div class="buttons">
          <button type="button" onClick=${() => setRows([...rows, { name: "", value: "" }])}>Add</button>
          <span class="space"></span>
          <button type="button" onClick=${() => dialog.current.close()}>Cancel</button>
          <button class="primary">Use</button>
        </div>
      </form>
    </dialog>`;
}

function Theme() {
  const [theme, setTheme] = useState(() => remembered() ?? "");
  useEffect(() => {
    if (theme) document.documentElement.dataset.theme = theme;
  }, [theme]);
  const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const change = () => {
    const next = isDark ? "light" : "dark";
    setTheme(next);
    try {
      localStorage.setItem(THEME, next);
    } catch {
      // A browser that keeps nothing has the theme of the system next time.
    }
  };
  return html`<button type="button" class="icon" aria-label=${isDark ? "Light theme" : "Dark theme"} title=${isDark ? "Light" : "Dark"} onClick=${change}>${isDark ? "☀" : "☾"}</button>`;
}

function remembered() {
  try {
    return localStorage.getItem(THEME);
  } catch {
    return null;
  }
}

const page = new Console();
render(html`<${App} console=${page} />`, document.body);
page.load();
