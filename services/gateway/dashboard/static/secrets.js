// Sets secrets: <form data-sets-secret>; <button data-secret="NAME"> opens its dialog to replace the value of one.
import { call } from "./api.js";
import { allow, clear, submitOnce } from "./forms.js";
import { refresh } from "./refresh.js";
import { showToast } from "./toast.js";

/** Listen to the buttons and to the form. */
function startSecrets() {
  document.addEventListener("click", ({ target }) => {
    const button = target.closest?.("button[data-secret]");
    if (button) open(button.dataset.secret);
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-sets-secret]")) return;
    event.preventDefault();
    submitOnce(event.target, () => save(event.target));
  });
  allow("form[data-sets-secret]");
}

function open(name) {
  const dialog = document.getElementById("set-secret");
  const form = dialog.querySelector("form");
  form.reset();
  clear(form);
  form.elements.name.value = name;
  dialog.showModal();
  if (name) form.elements.value.focus();
}

async function save(form) {
  const { name, value } = form.elements;
  refuseWrongName(name);
  await call("PUT", `/api/v1/secrets/${encodeURIComponent(name.value)}`, { value: value.value });
  form.closest("dialog").close();
  showToast(`${name.value} was set`, "passed");
  form.reset();
  await refresh(["secrets"]);
}

/** It is a part of the address, so the server could not say what is wrong with it. */
function refuseWrongName(field) {
  if (field.checkValidity()) return;
  const message = `Enter 1 to 100 letters, digits, "_", "." and "-", not beginning with "." or "-".`;
  throw Object.assign(new Error(message), { fields: { name: message } });
}

startSecrets();
