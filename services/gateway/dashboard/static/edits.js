// Forms that change a resource: <form data-edits="/api/v1/apps/7">. Only fields that were changed are sent. What is known of it
// is read from data-reads, if that is another address.
import { call, exchange } from "./api.js";
import { allow, finish, submitOnce } from "./forms.js";

const TRIES = 3;

/** Save all such forms. A field that was changed elsewhere meanwhile is not overwritten before that was shown. */
function startEdits() {
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-edits]")) return;
    event.preventDefault();
    submitOnce(event.target, () => save(event.target));
  });
  allow("form[data-edits]");
}

async function save(form) {
  const changed = [...form.elements].filter((field) => field.name && field.value !== known(field));
  if (!changed.length) return form.closest("dialog")?.close();
  const answer = await change(form.dataset, changed);
  for (const field of changed) field.defaultValue = field.value;
  return finish(form, answer);
}

/** The value that was shown last; a select has no default of its own. */
function known(field) {
  return field.defaultValue ?? [...field.options].find(({ defaultSelected }) => defaultSelected)?.value;
}

/** Again if somebody has changed it in the moment between: then that is compared, too. */
async function change({ edits: url, reads }, fields) {
  const values = Object.fromEntries(fields.map((field) => [field.name, valueOf(field)]));
  for (let left = TRIES; ; left -= 1) {
    const { answer: present, etag } = await exchange("GET", reads ?? url);
    refuseOverwriting(fields, present);
    try {
      return await call("PATCH", url, values, { "If-Match": etag });
    } catch (error) {
      if (error.status !== 412 || left <= 1) throw error;
    }
  }
}

/** The values that were shown become the known ones, so that saving again replaces them. */
function refuseOverwriting(fields, present) {
  const changed = fields.filter((field) => textOf(present[field.name]) !== known(field));
  if (!changed.length) return;
  const problems = changed.map((field) => {
    field.defaultValue = textOf(present[field.name]);
    return [field.name, `Somebody has changed this to "${field.defaultValue}" meanwhile. Save again to replace it.`];
  });
  throw Object.assign(new Error(problems[0][1]), { fields: Object.fromEntries(problems) });
}

function textOf(value) {
  return (value ?? "").replace(/\r\n?/g, "\n");
}

function valueOf(field) {
  return field.value === "" && !field.required ? null : field.value;
}

startEdits();
