// The tests of a workflow in their order: <ol data-chosen-tests><li data-id="...">. All of it works with the keyboard.

/** The list; `changed` is called after each change. */
export class ChosenTests {
  constructor(list, changed) {
    this.list = list;
    this.changed = changed;
    for (const item of list.children) this.addControls(item);
    this.renumber();
    list.addEventListener("click", ({ target }) => this.onClick(target));
    list.addEventListener("change", ({ target }) => this.moveTo(target.closest("li"), Number(target.value)));
    list.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.target.type !== "number") return;
      event.preventDefault(); // it would send the form
      this.moveTo(event.target.closest("li"), Number(event.target.value));
    });
  }

  get ids() {
    return [...this.list.children].map(({ dataset }) => dataset.id);
  }

  add(id, name) {
    const item = document.createElement("li");
    item.dataset.id = id;
    const text = document.createElement("bdi");
    text.textContent = name;
    item.append(text);
    this.addControls(item);
    this.list.append(item);
    this.renumber();
  }

  /** Say beside a test that it does not exist any more. */
  markMissing(places) {
    for (const place of places) {
      const note = document.createElement("span");
      note.className = "badge failed";
      note.textContent = "deleted";
      this.list.children[place]?.querySelector("bdi").after(note);
    }
  }

  addControls(item) {
    const name = item.textContent.trim();
    const place = document.createElement("input");
    Object.assign(place, { type: "number", className: "input", min: 1, ariaLabel: `Position of ${name}` });
    item.prepend(place);
    for (const [action, text] of [["up", "Up"], ["down", "Down"], ["remove", "Remove"]]) {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", className: "button small", textContent: text, ariaLabel: `${text}: ${name}` });
      button.dataset.action = action;
      item.append(button);
    }
  }

  onClick(target) {
    const button = target.closest("button[data-action]");
    if (!button) return;
    const item = button.closest("li");
    const place = [...this.list.children].indexOf(item) + 1;
    if (button.dataset.action === "remove") return this.remove(item);
    this.moveTo(item, place + (button.dataset.action === "up" ? -1 : 1), button);
  }

  remove(item) {
    const next = item.nextElementSibling ?? item.previousElementSibling;
    item.remove();
    this.renumber();
    (next?.querySelector('[data-action="remove"]') ?? document.getElementById("find")).focus();
  }

  /** Move a test to a position, from 1; the control keeps the focus. */
  moveTo(item, place, control = item.querySelector("input")) {
    const others = [...this.list.children].filter((each) => each !== item);
    const before = Math.min(Math.max(Math.trunc(place) || 1, 1), others.length + 1) - 1;
    if (before < others.length) others[before].before(item);
    else this.list.append(item);
    this.renumber();
    control.focus();
  }

  renumber() {
    [...this.list.children].forEach((item, place) => {
      item.querySelector("input").value = place + 1;
    });
    this.list.parentElement.hidden = !this.list.children.length;
    this.changed(this.list.children.length);
  }
}
