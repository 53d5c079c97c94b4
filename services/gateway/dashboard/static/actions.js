// Buttons: sign out, open and close a dialog, and changes of one call.
import { call } from "./api.js";
import { destination } from "./forms.js";
import { showToast } from "./toast.js";

/** Listen to the buttons, also those that come later. */
export function startActions() {
  document.addEventListener("click", ({ target }) => {
    const button = target.closest?.("button");
    if (!button) return;
    if ("signOut" in button.dataset) signOut(button);
    else if (button.dataset.opens) document.getElementById(button.dataset.opens).showModal();
    else if ("closes" in button.dataset) button.closest("dialog").close();
    else if (button.dataset.post) post(button);
  });
}

async function signOut(button) {
  await perform(button, async () => {
    await call("DELETE", "/session");
    location.assign("/sign-in");
  });
}

async function post(button) {
  if (button.dataset.confirm && !confirm(button.dataset.confirm)) return;
  await perform(button, async () => {
    const answer = await call("POST", button.dataset.post, JSON.parse(button.dataset.body ?? "{}"));
    if (button.dataset.next) location.assign(destination(button.dataset.next, answer));
  });
}

async function perform(button, work) {
  if (button.getAttribute("aria-busy") === "true") return;
  button.setAttribute("aria-busy", "true");
  try {
    await work();
  } catch (error) {
    showToast(error.message, "failed");
  } finally {
    button.removeAttribute("aria-busy");
  }
}
