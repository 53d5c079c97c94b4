// What every page has: times, messages, tooltips, forms, and the buttons of one call. theme.js is loaded before it, in <head>; templates name what only they need in `parts`.

import { call } from "./api.js";
import { startCards } from "./cards.js";
import { finish, runOnce, startForms } from "./forms.js";
import { startQuestions } from "./questions.js";
import { startSearchKey } from "./search_key.js";
import { startTimes } from "./time.js";
import { showToast, startToasts } from "./toast.js";

startTimes();
startCards();
startToasts();
startTooltips();
startForms();
startButtons();
startQuestions();
startSearchKey();

/**
 * Tooltips open by CSS on hover and focus: .tip with a [role=tooltip] inside. Escape closes the open ones; a closed one
 * opens again once pointer and focus have left it.
 */
function startTooltips() {
  document.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    document.querySelectorAll(".tip:is(:hover, :focus, :focus-within)").forEach((tip) => {
      tip.dataset.dismissed = "";
    });
  });
  for (const event of ["pointerout", "focusout"]) {
    document.addEventListener(event, ({ target, relatedTarget }) => {
      const tip = target.closest?.(".tip");
      if (tip && !tip.contains(relatedTarget)) delete tip.dataset.dismissed;
    });
  }
}

/** Listen to the buttons, also those that come later: sign out, open and close a dialog, and changes of one call. */
function startButtons() {
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
