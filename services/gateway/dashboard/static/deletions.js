// Forms that delete what has a name, which has to be typed: <form data-deletes="/api/v1/apps/7" data-name="Shop" data-next="/">.
import { call } from "./api.js";
import { clear, go, show } from "./forms.js";

/** Delete by all such forms. */
export function startDeletions() {
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-deletes]")) return;
    event.preventDefault();
    remove(event.target);
  });
}

async function remove(form) {
  const { deletes, name, next } = form.dataset;
  const button = form.querySelector('button[type="submit"]');
  if (button.getAttribute("aria-busy") === "true") return;
  clear(form);
  if (form.elements.typed.value.trim() !== name.trim()) return show(form, new Error(`Type "${name}" to delete it.`));
  button.setAttribute("aria-busy", "true");
  try {
    await call("DELETE", deletes);
    go(next, null);
  } catch (error) {
    button.removeAttribute("aria-busy");
    show(form, error);
  }
}
