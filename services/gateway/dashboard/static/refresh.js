// Parts of the page, by their ids, as the server renders them now. The rest of the page stays as it is.
import { announceSessionEnd, isSessionEnded, withdrawSessionEnd } from "./session.js";
import { showToast } from "./toast.js";

const NOT_CURRENT = "This page could not be refreshed. Check the connection, and load it again.";
const TIMEOUT_MILLISECONDS = 15_000;

const HTMX = "./vendor/htmx.esm.min.js";

let failures = 0;
let library = importHtmx(); // not a static import, so that nothing waits for it
let latest = Promise.resolve();

function importHtmx() {
  const importing = import(failures ? `${HTMX}?again=${failures}` : HTMX);
  importing.catch(() => {
    failures += 1;
    library = null;
  });
  return importing;
}

/** htmx, asked for again if it did not come: under another address, because browsers remember that an import failed. */
export async function loadHtmx() {
  library ??= importHtmx();
  return (await library).default;
}

/** Morph the parts after an action; if the server does not answer, that is said. */
export async function refresh(ids) {
  if (!(await morph(ids)) && !isSessionEnded()) showToast(NOT_CURRENT, "failed");
}

/**
 * Morph the parts, one call after the other, so that an older answer never replaces a newer one. What is open, typed or
 * has the focus stays so (htmx-config in base.html, hx-morph-skip). False if the server does not answer with this page.
 */
export function morph(ids) {
  latest = latest.then(() => replaceParts(ids)).catch(() => false);
  return latest;
}

/** Show or hide the note above the content that the page is not current; the end of the session is said elsewhere. */
export function showStale(isStale) {
  document.querySelector("[data-stale]").hidden = !isStale || isSessionEnded();
}

async function replaceParts(ids) {
  const text = await load();
  if (text === null) return false;
  const htmx = await loadHtmx();
  const focused = document.activeElement;
  const around = ids.find((id) => document.getElementById(id)?.contains(focused)) ?? ids[0];
  for (const id of ids) await htmx.swap(swapOf(id, text));
  document.title = titleOf(text); // it begins with the result, which may have changed
  if (focused !== document.body && !focused.isConnected) document.getElementById(around)?.focus({ preventScroll: true });
  document.dispatchEvent(new CustomEvent("parts:change"));
  return true;
}

/** This page, null if the server does not answer with it; it answers with a redirection when the session has ended. */
async function load() {
  try {
    const response = await fetch(location.href, { signal: AbortSignal.timeout(TIMEOUT_MILLISECONDS) });
    const text = response.ok ? await response.text() : null;
    if (!response.redirected && response.ok) withdrawSessionEnd();
    else if (response.redirected && !isSessionEnded()) announceSessionEnd();
    return response.redirected ? null : text;
  } catch {
    return null;
  }
}

function titleOf(text) {
  const head = text.slice(0, text.indexOf("</title>"));
  return new DOMParser().parseFromString(head, "text/html").title;
}

function swapOf(id, text) {
  return { sourceElement: document.body, text, target: `#${id}`, select: `#${id}`, swap: "outerMorph" };
}
