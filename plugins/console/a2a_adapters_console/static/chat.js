// The conversation: its turns, and the composer below.
import { Component } from "./vendor/preact.js";
import { Composer } from "./composer.js";
import { html, Problem, useRef, useState } from "./ui.js";
import { shown } from "./text.js";
import { TurnView } from "./turn_view.js";

const FAR = -160; // the end is at 0, as the turns are in reverse

export function Chat({ session }) {
	const take = (event) => {
		const { files, types } = event.dataTransfer ?? event.clipboardData;
		if (!files.length || types.includes("text/plain")) return; // office programs add a picture of the text
		event.preventDefault();
		session.attach(files);
	};
	const onDragOver = (event) => event.dataTransfer.types.includes("Files") && event.preventDefault();
	return html`<section class="chat" aria-label="Conversation" onDragOver=${onDragOver} onDrop=${take} onPaste=${take}>
		<${Turns} session=${session} />
		<${Composer} session=${session} />
	</section>`;
}

function Turns({ session }) {
	const box = useRef(null);
	const [isFar, setIsFar] = useState(false);
	const { turns, card, cardError, agent, restoring, restoreError } = session;
	const toEnd = () => {
		box.current.scrollTo({ top: 0 });
		box.current.focus();
	};
	return html`<div class="log">
		<div class="turns" role="log" tabindex="0" aria-label="Messages" ref=${box} onScroll=${({ target }) => setIsFar(target.scrollTop < FAR)}><div>
			<${Problem} of=${restoreError}><button onClick=${() => session.restore(session.place)}>Try again</button><//>
			${restoring && html`<p class="hint" role="status">Reading the conversation …</p>`}
			${!turns.length && !restoring && html`<div class="welcome"><h2>${shown(agent.name)}</h2>${shown(card?.description)}<${Problem} of=${cardError} /></div>`}
			${turns.map((turn, at) => html`<${Safe} key=${at}><${TurnView} turn=${turn} session=${session} /><//>`)}
		</div></div>
		${isFar && html`<button class="latest" onClick=${toEnd}>↓ Jump to latest</button>`}
	</div>`;
}

/** One answer that cannot be shown must not take the others with it. */
export class Safe extends Component {
	componentDidCatch(problem) {
		this.setState({ problem });
	}

	render({ children }, { problem }) {
		return problem ? html`<p class="bad">This cannot be shown; it is in the frames.</p>` : children;
	}
}
