// Libraries that few pages need, loaded when the first block needs one.
import { changed } from "./ui.js";

/** A function that returns a library, or nothing until it has come. */
export function lazy(load) {
	let library;
	let loading;
	return () => {
		// A page without the library shows plain text, and asks again after a reload.
		loading ??= load().then((module) => changed((library = module.default)), () => {});
		return library;
	};
}
