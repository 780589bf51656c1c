// Interfaces that agents keep in a conversation: A2UI 0.9.1 (https://a2ui.org).
import { DataModel } from "./vendor/a2ui.js";

export const A2UI = "https://a2ui.org/a2a-extension/a2ui/v0.9.1";
const metadata = { mimeType: "application/a2ui+json" };
const CATALOGS = ["v0_9_1", "v0_9"].map((version) => `https://a2ui.org/specification/${version}/catalogs/basic/catalog.json`);

/** What the messages of a part have made: surfaces, nothing new, or null for what is not understood. */
export const made = Symbol("made");

export class Surfaces extends Map {
	#taken = new Map();

	/** Apply what is new in a turn; a task that is read again has the same parts once more. */
	take({ taskId, artifacts, said }) {
		for (const { artifactId, messageId, parts = [] } of [...artifacts, said ?? {}]) {
			for (const [at, part] of parts.entries()) {
				if (part[made] || part.metadata?.mimeType !== metadata.mimeType) continue;
				const key = JSON.stringify([taskId, artifactId ?? messageId, at, part.data]);
				if (!this.#taken.has(key)) this.#taken.set(key, [structuredClone(part.data)].flat().map((message) => this.#apply(message)));
				part[made] = this.#taken.get(key);
			}
		}
	}

	#apply(message) {
		try {
			const { version, createSurface, updateComponents, updateDataModel, deleteSurface } = message;
			const { surfaceId, catalogId, sendDataModel, components, path = "/", value } = createSurface ?? updateComponents ?? updateDataModel ?? deleteSurface;
			const known = this.get(surfaceId);
			if (createSurface) {
				if (known || !CATALOGS.includes(catalogId)) return null;
				this.set(surfaceId, Object.assign(new Surface(), { surfaceId, version, sendDataModel }));
				return this.get(surfaceId);
			}
			if (updateComponents) for (const each of components) known.components.set(each.id, each);
			if (updateDataModel) known.set(path, value);
			if (deleteSurface) known.isGone = this.delete(surfaceId);
		} catch {
			return null;
		}
	}

	get metadata() {
		const shared = [...this.values()].filter(({ sendDataModel }) => sendDataModel);
		const surfaces = Object.fromEntries(shared.map(({ surfaceId, data }) => [surfaceId, data]));
		return {
			a2uiClientCapabilities: { "v0.9": { supportedCatalogIds: CATALOGS } },
			...(shared.length && { a2uiClientDataModel: { version: "v0.9", surfaces } }),
		};
	}
}

class Surface extends DataModel {
	components = new Map();

	set(path, value) {
		// Arrays with holes and trees without bottom would fill the memory.
		if (/\/\d{6}/.test(path) || path.split("/").length > 40) throw new RangeError("too far");
		return super.set(path, value);
	}

	told(action) {
		const { surfaceId, version } = this;
		return [{ data: [{ version, action: { surfaceId, timestamp: new Date().toISOString(), ...action } }], metadata }];
	}
}
