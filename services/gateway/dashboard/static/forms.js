// Forms that send JSON to the REST interface: <form data-json="/api/v1/apps" data-next="/apps/{id}">.
import { call } from "./api.js";
import { refresh } from "./refresh.js";
import { showToast } from "./toast.js";

/** Send all such forms. What was typed stays; what is wrong is said beside the field. */
export function startForms() {
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-json]")) return;
    event.preventDefault();
    send(event.target);
  });
}

async function send(form) {
  const button = form.querySelector('button[type="submit"]');
  if (button.getAttribute("aria-busy") === "true") return;
  clear(form);
  button.setAttribute("aria-busy", "true");
  try {
    const answer = await call(form.dataset.method ?? "POST", form.dataset.json, values(form));
    if (await finish(form, answer)) button.removeAttribute("aria-busy");
  } catch (error) {
    button.removeAttribute("aria-busy");
    show(form, error);
  }
}

function values(form) {
  return Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));
}

/** Go to a page, in whose address {id} and others are replaced by fields of the answer; load this one again if there is none. */
export function go(template, answer) {
  if (template === undefined) location.reload();
  else location.assign(template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(answer[name])));
}

/** After a change: refresh the parts data-refreshes="id id" of the page, say data-done, or else go to data-next="/apps/{id}".
 * True if the page stays. */
export async function finish(element, answer) {
  const { next, refreshes, done } = element.dataset;
  if (!refreshes && !done) {
    go(next, answer);
    return false;
  }
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
  const fields = error.fields ?? {};
  const named = Object.keys(fields).filter((name) => form.elements[name]);
  const problems = named.length ? named.map((name) => [name, fields[name]]) : [[firstName(form), error.message]];
  for (const [name, message] of problems) {
    const field = form.elements[name];
    const text = form.querySelector(`#${CSS.escape(field.id)}-error`);
    field.setAttribute("aria-invalid", "true");
    text.textContent = message;
    text.hidden = false;
  }
  form.elements[problems[0][0]].focus();
}

function firstName(form) {
  return [...form.elements].find((field) => field.name).name;
}
