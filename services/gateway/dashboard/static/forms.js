// Forms that send JSON to the REST interface: <form data-json="/api/v1/apps" data-next="/apps/{id}">.
import { call } from "./api.js";
import { problemOf, sentenceOf } from "./field_errors.js";
import { refresh } from "./refresh.js";
import { showToast } from "./toast.js";

/** Send all such forms. What was typed stays; what is wrong is said beside the field. */
export function startForms() {
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-json]")) return;
    event.preventDefault();
    submitOnce(event.target, () => send(event.target));
  });
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) document.querySelectorAll("button[aria-busy]").forEach(setIdle); // somebody went back to the page
  });
  allow("form[data-json]");
}

/**
 * Let such forms be sent, also those that come later. Templates disable their buttons until the script that sends them
 * listens, because without it the browser would send them itself.
 */
export function allow(selector) {
  const enable = () => {
    for (const button of document.querySelectorAll(`${selector} button[type="submit"]`)) button.disabled = false;
  };
  enable();
  document.addEventListener("parts:change", enable);
}

/** Do the work of a form unless it is under way, and say what is wrong. The work gives false if the page is left. */
export async function submitOnce(form, work) {
  const button = form.querySelector('button[type="submit"]');
  clear(form);
  await runOnce(button, work, (error) => show(form, error));
}

/** Do the work of a button unless it is under way; a button of a page that is left stays as it is. */
export async function runOnce(button, work, refuse) {
  if (button.getAttribute("aria-busy") === "true") return;
  button.setAttribute("aria-busy", "true");
  try {
    if ((await work()) !== false) setIdle(button);
  } catch (error) {
    setIdle(button);
    refuse(error);
  }
}

function setIdle(button) {
  button.removeAttribute("aria-busy");
}

async function send(form) {
  refuseUnreadable(form);
  const answer = await call(form.dataset.method ?? "POST", form.dataset.json, values(form));
  return finish(form, answer);
}

/** A date of which only a part was typed has no value: it would count as none. */
export function refuseUnreadable(form) {
  const field = [...form.elements].find((each) => each.validity?.badInput);
  if (field) throw Object.assign(new Error(), { fields: { [field.name]: "Enter the whole date, or none." } });
}

function values(form) {
  return Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));
}

/** Go to a page, in whose address {id} and others are replaced by fields of the answer, if it has any; without one load this again. */
export function go(template, answer) {
  if (template === undefined) location.reload();
  else location.assign(template.replace(/\{(\w+)\}/g, (text, name) => (answer ? encodeURIComponent(answer[name]) : text)));
}

/** After a change: empty a form with data-resets, refresh the parts data-refreshes="id id" of the page, say data-done, or else go to
 * data-next="/apps/{id}".
 * True if the page stays. */
export async function finish(element, answer) {
  const { next, refreshes, done } = element.dataset;
  if (!refreshes && !done) {
    go(next, answer);
    return false;
  }
  if ("resets" in element.dataset) element.reset();
  if (refreshes) await refresh(refreshes.split(" "));
  element.closest("dialog")?.close();
  if (done) showToast(done, "passed");
  return true;
}

/** Remove what the form says to be wrong. */
export function clear(form) {
  for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  for (const text of form.querySelectorAll(".error")) {
    text.hidden = true;
    text.textContent = "";
  }
}

/** Say what is wrong beside the fields, or beside the first one if the error names none. */
export function show(form, error) {
  const fitting = [...form.elements].filter((field) => textOf(field));
  const named = fitting.filter((field) => problemOf(field.name, error));
  const wrong = named.length ? named : fitting.slice(0, 1);
  for (const field of wrong) {
    const text = textOf(field);
    field.setAttribute("aria-invalid", "true");
    const problem = problemOf(field.name, error);
    text.textContent = problem ? sentenceOf(field, problem.message, problem.kind) : error.message;
    text.hidden = false;
  }
  wrong[0].focus();
}

/** Where it is said what is wrong with a field; null for one that nobody sees. */
function textOf(field) {
  return field.id ? document.getElementById(`${field.id}-error`) : null;
}
