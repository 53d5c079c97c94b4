// The search of a form for tests to add to those that it has chosen.
import { call } from "./api.js";
import { runOnce } from "./forms.js";
import { showToast } from "./toast.js";

const FOUND = 50;

export class TestSearch {
  /** `form` has [data-find], [data-found], #find and #find-status; `tests` are its ChosenTests. */
  constructor(form, tests) {
    this.form = form;
    this.tests = tests;
    this.start();
  }

  start() {
    const field = document.getElementById("find");
    const button = this.form.querySelector("[data-find]");
    const search = () => runOnce(button, () => this.find(field.value.trim()), (error) => showToast(error.message, "failed"));
    button.addEventListener("click", search);
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault(); // it would send the form
      search();
    });
    this.form.querySelector("[data-found]").addEventListener("click", ({ target }) => this.add(target.closest("button")));
  }

  async find(text) {
    const search = new URLSearchParams({ search: text, page_size: FOUND });
    const { items, total } = await call("GET", `/api/v1/tests?${search}`);
    this.form.querySelector("[data-found]").replaceChildren(...items.map((test) => this.candidate(test)));
    const status = document.getElementById("find-status");
    if (!total) status.textContent = "No test has this in its name.";
    else status.textContent = total > items.length ? `The newest ${items.length} of ${total}: type more of the name.` : `${total} found.`;
  }

  candidate({ id, name }) {
    const item = document.createElement("li");
    const text = document.createElement("bdi");
    const isChosen = this.tests.ids.includes(id);
    text.textContent = name;
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "button small", textContent: isChosen ? "Added" : "Add", disabled: isChosen, ariaLabel: `Add ${name}` });
    Object.assign(button.dataset, { add: id, name });
    item.className = "row";
    item.append(text, button);
    return item;
  }

  add(button) {
    if (!button?.dataset.add || this.tests.ids.includes(button.dataset.add)) return;
    this.tests.add(button.dataset.add, button.dataset.name);
    button.textContent = "Added";
    const next = button.closest("li").nextElementSibling?.querySelector("button") ?? document.getElementById("find");
    button.disabled = true;
    next.focus();
  }
}
