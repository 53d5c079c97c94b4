// Editors of steps: <form data-editor>. What is wrong is said beside the text while one types.
import { exchange } from "./api.js";
import { clear, go, show } from "./forms.js";
import { Conflict, createTest, saveSteps } from "./saved_steps.js";
import { moveTo, numberLines } from "./source_lines.js";
import { checkSteps } from "./step_checks.js";
import { keepToast, showToast } from "./toast.js";

const PAUSE_MILLISECONDS = 400;
const editors = new Map();

/** Start the editors of the page. */
export function startEditors() {
  document.querySelectorAll("form[data-editor]").forEach((form) => editors.set(form, new Editor(form)));
  addEventListener("beforeunload", (event) => {
    if ([...editors.values()].some((editor) => editor.isChanged)) event.preventDefault();
  });
}

class Editor {
  constructor(form) {
    this.form = form;
    this.area = form.querySelector("[data-source]");
    this.gutter = form.querySelector("[data-gutter]");
    this.saved = this.area.value;
    this.read = { etag: form.dataset.etag, version: Number(form.dataset.versionNumber) };
    this.marked = new Set();
    this.area.addEventListener("input", () => this.onInput());
    this.area.addEventListener("scroll", () => this.number());
    form.addEventListener("submit", (event) => this.onSubmit(event));
    form.querySelector("[data-reload]")?.addEventListener("click", () => this.discard());
    form.querySelector("[data-problems]").addEventListener("click", ({ target }) => this.onProblem(target));
    this.number();
  }

  get isChanged() {
    return this.area.value !== this.saved;
  }

  number() {
    numberLines(this.gutter, this.area, this.marked);
  }

  onInput() {
    this.number();
    this.showWhetherSaved();
    clearTimeout(this.timer);
    this.checking?.abort();
    this.timer = setTimeout(() => this.check(), PAUSE_MILLISECONDS);
  }

  showWhetherSaved() {
    const note = this.form.querySelector("[data-unsaved]");
    if (note) note.hidden = !this.isChanged;
  }

  async check() {
    this.checking?.abort();
    this.checking = new AbortController();
    try {
      this.showFindings(await checkSteps(this.area.value, this.checking.signal));
    } catch (error) {
      if (error.name !== "AbortError") this.say(`The steps cannot be checked now. ${error.message}`);
    }
  }

  showFindings({ problems, notices }) {
    this.marked = new Set(problems.map((problem) => problem.line));
    this.number();
    this.area.setAttribute("aria-invalid", String(problems.length > 0));
    this.form.querySelector("[data-problems]").replaceChildren(
      ...problems.map((problem) => finding(problem, "failed", "problem")),
      ...notices.map((notice) => finding(notice, "no-verdict", "notice")),
    );
    this.say(summary(problems, notices));
  }

  say(text) {
    const status = this.form.querySelector("[data-status]");
    if (status.textContent !== text) status.textContent = text;
  }

  onProblem(target) {
    const button = target.closest("button");
    if (button) moveTo(this.area, Number(button.dataset.line), Number(button.dataset.column));
  }

  discard() {
    this.saved = this.area.value;
    location.reload();
  }

  async onSubmit(event) {
    event.preventDefault();
    const button = event.submitter ?? this.form.querySelector('button[type="submit"]');
    if (button.getAttribute("aria-busy") === "true") return;
    clear(this.form);
    button.setAttribute("aria-busy", "true");
    try {
      await (this.form.dataset.test ? this.save() : this.create());
    } catch (error) {
      this.refuse(error);
    } finally {
      button.removeAttribute("aria-busy");
    }
  }

  refuse(error) {
    if (error.status === 422) {
      show(this.form, error);
      this.check();
    } else {
      showToast(error.message, "failed");
    }
  }

  async save() {
    const text = this.area.value;
    try {
      const { answer, etag } = await saveSteps(this.form.dataset.test, text, this.read);
      this.onSaved(text, answer, etag);
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      await this.showConflict(error.current);
    }
  }

  onSaved(text, test, etag) {
    const isSame = test.version_number === this.read.version;
    this.saved = text;
    this.read = { etag, version: test.version_number };
    this.showWhetherSaved();
    this.form.querySelector("[data-conflict]").hidden = true;
    this.form.querySelector("[data-save]").hidden = false;
    document.querySelector("[data-version]").textContent = test.version_number;
    showToast(isSame ? `The steps are still those of version ${test.version_number}` : `Saved as version ${test.version_number}`);
  }

  async showConflict({ answer, etag }) {
    this.read = { etag, version: answer.version_number };
    const difference = await exchange("POST", `/tests/${answer.id}/difference`, { text: this.area.value });
    const section = this.form.querySelector("[data-conflict]");
    section.querySelector("[data-conflict-version]").textContent = `version ${answer.version_number}`;
    section.querySelector("[data-difference]").innerHTML = difference.answer;
    this.form.querySelector("[data-save]").hidden = true;
    section.hidden = false;
    section.focus();
  }

  async create() {
    const { name, flow, app } = Object.fromEntries(new FormData(this.form));
    let test;
    try {
      test = await createTest({ name, flow, app });
      keepToast("The test is created");
    } catch (error) {
      if (!error.test) throw error;
      test = error.test;
      keepToast(`The test is created, but not attached to the app: ${error.message}`, "failed");
    }
    this.saved = this.area.value;
    go("/tests/{id}", test);
  }
}

function finding({ line, column, message }, outcome, kind) {
  const item = document.createElement("li");
  const badge = document.createElement("span");
  badge.className = `badge ${outcome}`;
  badge.textContent = kind;
  item.append(badge, " ");
  if (line) item.append(placeButton(line, column), " ");
  item.append(message);
  return item;
}

function placeButton(line, column) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button small";
  button.textContent = place({ line, column });
  Object.assign(button.dataset, { line, column });
  return button;
}

function place({ line, column }) {
  return `Line ${line}, column ${column}`;
}

function summary(problems, notices) {
  if (problems.length) return `${counted(problems, "problem")}, the first on ${place(problems[0]).toLowerCase()}.`;
  return notices.length ? `${counted(notices, "notice")}.` : "None found.";
}

function counted(list, noun) {
  return `${list.length} ${noun}${list.length === 1 ? "" : "s"}`;
}
