// Deletes what has a name, which has to be typed into the dialog #delete:
// <button data-deletes="/api/v1/..." data-name="ci" data-refreshes="keys">, or data-next="/" for the page to go to.
import { call } from "./api.js";
import { clear, submitOnce } from "./forms.js";
import { refresh } from "./refresh.js";
import { showToast } from "./toast.js";

/** Listen to the buttons, and to the form of the dialog. */
function startDeletions() {
  document.addEventListener("click", ({ target }) => {
    const button = target.closest?.("button[data-deletes]");
    if (button) open(button);
  });
  document.addEventListener("input", ({ target }) => {
    const form = target.closest?.("form[data-deletion]");
    if (form) submitOf(form).disabled = plain(target.value) !== plain(form.dataset.name);
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-deletion]")) return;
    event.preventDefault();
    if (!submitOf(event.target).disabled) submitOnce(event.target, () => remove(event.target));
  });
}

function open({ dataset }) {
  const dialog = document.getElementById("delete");
  const form = dialog.querySelector("form");
  form.reset();
  clear(form);
  const { deletes: url, name, refreshes = "", next = "" } = dataset;
  Object.assign(form.dataset, { url, name, refreshes, next });
  for (const each of form.querySelectorAll("[data-shows-name]")) each.textContent = name;
  for (const each of form.querySelectorAll("[data-only-sign-in]")) each.hidden = next !== "/sign-in";
  submitOf(form).disabled = true;
  dialog.showModal();
}

async function remove(form) {
  const { url, name, refreshes, next } = form.dataset;
  await call("DELETE", url);
  if (next) {
    location.assign(next);
    return false;
  }
  form.closest("dialog").close();
  await refresh([refreshes]);
  showToast(`${name} was deleted`, "passed");
}

function submitOf(form) {
  return form.querySelector('button[type="submit"]');
}

/** The text as a browser shows it: without white space at its ends, and with single spaces. */
function plain(text) {
  return text.trim().replace(/\s+/g, " ");
}

startDeletions();
