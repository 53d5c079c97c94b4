// Parts of the page, by their ids, as the server renders them now. The rest of the page stays as it is.
import { showToast } from "./toast.js";

const NOT_CURRENT = "This page could not be refreshed. Check the connection, and load it again.";

/** Morph the parts. The focus stays, or goes to the part in which it was; if the server does not answer, that is said. */
export async function refresh(ids) {
  const focused = document.activeElement;
  const around = ids.find((id) => document.getElementById(id)?.contains(focused)) ?? ids[0];
  if (!(await morph(ids))) return showToast(NOT_CURRENT, "failed");
  if (focused !== document.body && !focused.isConnected) document.getElementById(around)?.focus();
}

/** Morph the parts; what is open or has the focus stays so. False if the server does not answer with this page. */
export async function morph(ids) {
  const opened = [...document.querySelectorAll("details[open][id]")];
  const text = await load();
  if (text === null) return false;
  for (const id of ids) await window.htmx.swap(swapOf(id, text));
  for (const { id } of opened) document.getElementById(id)?.setAttribute("open", "");
  document.dispatchEvent(new CustomEvent("parts:change"));
  return true;
}

/** This page, null if the server does not answer; whoever has to sign in again is sent to do so. */
async function load() {
  try {
    const response = await fetch(location.href);
    if (response.redirected) location.reload();
    return response.ok && !response.redirected ? await response.text() : null;
  } catch {
    return null;
  }
}

function swapOf(id, text) {
  return { sourceElement: document.body, text, target: `#${id}`, select: `#${id}`, swap: "outerMorph" };
}
