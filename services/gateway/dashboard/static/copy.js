// Copy buttons: <button data-copy="text"> or <button data-copy-from="#element">, whose text or value is copied.

import { showToast } from "./toast.js";

const DONE_MILLISECONDS = 2000;

function textOf(button) {
  const { copy, copyFrom } = button.dataset;
  if (copyFrom === undefined) return copy;
  const source = document.querySelector(copyFrom);
  return source?.value ?? source?.textContent ?? "";
}

/** For pages without TLS, where browsers have no navigator.clipboard; false if the browser refuses. */
function copySelection(text, button) {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "visually-hidden";
  (button.closest("dialog") ?? document.body).append(area);
  area.select();
  try {
    return document.execCommand("copy");
  } finally {
    area.remove();
    button.focus();
  }
}

async function copyText(text, button) {
  try {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(text);
      return true;
    }
  } catch {
    // Not permitted: try the selection.
  }
  return copySelection(text, button);
}

function markDone(button) {
  if (button.dataset.label !== undefined) return;
  button.dataset.label = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => {
    button.textContent = button.dataset.label;
    delete button.dataset.label;
  }, DONE_MILLISECONDS);
}

async function copyFrom(button) {
  if (await copyText(textOf(button), button)) {
    markDone(button);
    showToast("Copied");
  } else {
    showToast("The browser does not permit copying: select the text and copy it yourself", "failed");
  }
}

/** Listen to all copy buttons, also those that come later. */
function startCopy() {
  document.addEventListener("click", ({ target }) => {
    const button = target.closest?.("[data-copy], [data-copy-from]");
    if (button) copyFrom(button);
  });
}

startCopy();
