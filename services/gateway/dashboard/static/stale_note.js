// The note [data-stale] above the content: the page is not current, because the server does not answer.
import { isSessionEnded } from "./session_end.js";

/** Show or hide it; the end of the session is said elsewhere. */
export function showStale(isStale) {
  document.querySelector("[data-stale]").hidden = !isStale || isSessionEnded();
}
