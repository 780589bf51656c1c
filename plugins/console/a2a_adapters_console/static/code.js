// Blocks of code, coloured by highlight.js if their language is known.
import { lazy } from "./lazy.js";
import { hasHidden, shown } from "./text.js";
import { Copy, html, useMemo } from "./ui.js";

const MOST = 20_000;
const library = lazy(() => import("./vendor/highlight.js"));

export function Code({ text, lang }) {
	const language = /^[\w+#-]+/.exec(lang ?? "")?.[0];
	const highlighter = language && text.length <= MOST ? library() : null;
	const tokens = useMemo(() => coloured(highlighter, text, language), [highlighter, text, language]);
	return html`<div class="code">
		<pre tabindex="0" aria-label=${language ? `Code in ${language}` : "Code"} role="group"><code>${tokens ?? shown(text)}</code></pre>
		<${Copy} label="Copy" text=${() => text} />
	</div>`;
}

function coloured(highlighter, text, language) {
	if (!highlighter?.getLanguage(language) || hasHidden(text)) return null;
	// The library's tree, as its HTML would be markup.
	return highlighter.highlight(text, { language, ignoreIllegals: true })._emitter.rootNode.children.map(element);
}

function element(node) {
	if (typeof node === "string") return node;
	const { scope, children } = node;
	return html`<span class="hl-${String(scope).split(".")[0]}">${children.map(element)}</span>`;
}
