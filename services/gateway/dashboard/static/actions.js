// Buttons: sign out, open and close a dialog, and changes of one call.
import { call } from "./api.js";
import { finish, runOnce } from "./forms.js";
import { showToast } from "./toast.js";

/** Listen to the buttons, also those that come later. */
export function startActions() {
  document.addEventListener("click", ({ target }) => {
    const button = target.closest?.("button");
    if (!button) return;
    if ("signOut" in button.dataset) signOut(button);
    else if (button.dataset.opens) document.getElementById(button.dataset.opens).showModal();
    else if ("closes" in button.dataset) button.closest("dialog").close();
    else if (button.dataset.url) send(button);
  });
}

async function signOut(button) {
  await perform(button, async () => {
    await call("DELETE", "/session");
    location.assign("/sign-in");
    return false;
  });
}

/** <button data-url="/api/v1/..." data-method="DELETE" data-body="{}" data-confirm="Sure?">, and what `finish` reads. */
async function send(button) {
  const { url, method = "POST", body, confirm: question } = button.dataset;
  if (question && !confirm(question)) return;
  await perform(button, async () => {
    const answer = await call(method, url, method === "DELETE" ? undefined : JSON.parse(body ?? "{}"));
    return finish(button, answer);
  });
}

function perform(button, work) {
  return runOnce(button, work, (error) => showToast(error.message, "failed"));
}
