// Creates API keys: <form data-creates-key>. The value is only in its dialog, and is removed when that closes, which only its
// button does: neither Escape nor leaving the page loses a value that is shown once.
import { call } from "./api.js";
import { allow, refuseUnreadable, submitOnce } from "./forms.js";
import { refresh } from "./refresh.js";

let isCreating = false;

/** Listen to the form and to the dialog with the value. */
function startApiKeys() {
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-creates-key]")) return;
    event.preventDefault();
    submitOnce(event.target, () => create(event.target));
  });
  document.addEventListener("close", ({ target }) => {
    if (target.id === "new-key") forgetValue();
  }, true);
  document.addEventListener("keydown", keepOpen, true);
  document.addEventListener("cancel", keepOpen, true);
  addEventListener("beforeunload", (event) => {
    if (isCreating || shownValue()) event.preventDefault();
  });
  addEventListener("pagehide", forgetValue);
  allow("form[data-creates-key]");
}

/** For browsers without `closedby`, and for those that let a second Escape close what refused the first. */
function keepOpen(event) {
  if ((event.type === "cancel" || event.key === "Escape") && shownValue()) event.preventDefault();
}

async function create(form) {
  refuseUnreadable(form);
  isCreating = true;
  try {
    showValue(await call("POST", "/api/v1/settings/api-keys", values(form)));
  } finally {
    isCreating = false;
  }
  form.closest("dialog").close();
  form.reset();
  document.getElementById("new-key").showModal();
  await refresh(["keys"]);
}

function values(form) {
  const { name, expires_at: day } = form.elements;
  const scopes = [...form.querySelectorAll("[name=scope]:checked")].map((choice) => choice.value);
  if (!scopes.length) throw Object.assign(new Error(), { fields: { scopes: "Choose at least one scope." } });
  return { name: name.value, scopes, ...(day.value && { expires_at: endOf(day.value) }) };
}

/** The end of a day ("2027-01-31") in the time zone of the browser, as a moment in UTC. */
function endOf(day) {
  const [year, month, date] = day.split("-").map(Number);
  const moment = new Date(0);
  moment.setFullYear(year, month - 1, date + 1);
  moment.setHours(0, 0, 0, 0);
  return moment.toISOString();
}

function showValue({ name, key }) {
  document.getElementById("new-key-value").textContent = key;
  document.getElementById("new-key-name").textContent = name;
}

function shownValue() {
  return document.getElementById("new-key-value")?.textContent ?? "";
}

function forgetValue() {
  if (shownValue()) document.getElementById("new-key-value").textContent = "";
}

startApiKeys();
