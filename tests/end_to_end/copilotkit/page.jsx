import "@copilotkit/react-core/v2/styles.css";
import {
	CopilotChat,
	CopilotKitProvider,
	useAgent,
	useFrontendTool,
	useInterrupt,
} from "@copilotkit/react-core/v2";
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { z } from "zod";

const button = { border: "1px solid #999", borderRadius: 6, margin: 4, padding: "4px 12px" };

function Question({ interrupt, resolve }) {
	return (
		<div id="question" style={{ border: "1px solid #999", borderRadius: 8, padding: 12 }}>
			<p>{interrupt?.message}</p>
			<button id="yes" style={button} onClick={() => resolve({ approved: true })}>
				Book
			</button>
			<button id="no" style={button} onClick={() => resolve({ approved: false })}>
				Do not book
			</button>
		</div>
	);
}

function Travel() {
	const { agent } = useAgent();
	useInterrupt({ render: (question) => <Question {...question} /> });
	useFrontendTool({
		name: "setColour",
		description: "Sets the colour of the page.",
		parameters: z.object({ colour: z.string() }),
		handler: async ({ colour }) => {
			document.body.style.background = colour;
			return "painted";
		},
	});
	return (
		<main style={{ display: "flex", height: "100vh" }}>
			<aside style={{ width: 240, padding: 16, fontFamily: "sans-serif" }}>
				<h2>Your trip</h2>
				<pre id="state">{JSON.stringify(agent?.state ?? {}, null, 1)}</pre>
			</aside>
			<CopilotChat style={{ flex: 1 }} />
		</main>
	);
}

function Page() {
	const [failure, setFailure] = useState("");
	return (
		<CopilotKitProvider
			runtimeUrl="/api/copilotkit"
			showDevConsole={false}
			onError={({ error }) => setFailure(error.message)}
		>
			{failure && <p role="alert">{failure}</p>}
			<Travel />
		</CopilotKitProvider>
	);
}

createRoot(document.getElementById("root")).render(<Page />);
