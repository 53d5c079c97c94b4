// "/" moves the focus to the search field of the page, unless somebody types or a dialog is open.
const FIELDS = 'main form[role="search"] input:is([type="search"], [type="text"], :not([type]))';
const HINT = 'Press "/" to get here';

/** Say it in the field, and listen. */
export function startSearchKey() {
  const field = document.querySelector(FIELDS);
  if (!field) return;
  field.title ||= HINT;
  field.setAttribute("aria-keyshortcuts", "/");
  document.addEventListener("keydown", onKey);
}

function onKey(event) {
  const { key, target } = event;
  const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
  if (key !== "/" || hasModifier || event.isComposing || document.querySelector("dialog[open]")) return;
  if (target.closest("input, select, textarea, [contenteditable]")) return;
  const field = document.querySelector(FIELDS);
  if (!field) return;
  event.preventDefault();
  field.focus();
  field.select();
}
