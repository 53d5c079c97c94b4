// The text of steps in an editor: its line numbers, and what is wrong with it while one types.
import { findingItem, summary } from "./findings.js";
import { moveTo, numberLines } from "./source_lines.js";
import { checkSteps } from "./step_checks.js";

const PAUSE_MILLISECONDS = 400;

/** The textarea of a form with [data-source], [data-gutter], [data-problems] and [data-status]. */
export class StepSource {
  constructor(form) {
    this.form = form;
    this.area = form.querySelector("[data-source]");
    this.saved = this.area.defaultValue;
    this.marked = new Set();
    this.area.addEventListener("input", () => this.onInput());
    this.area.addEventListener("scroll", () => this.number());
    form.querySelector("[data-problems]").addEventListener("click", ({ target }) => this.onProblem(target));
    this.number();
  }

  get text() {
    return this.area.value;
  }

  get isChanged() {
    return this.area.value !== this.saved;
  }

  /** Note that this text is saved; another one may stand in the textarea by now. */
  keep(text) {
    this.saved = text;
    this.showWhetherSaved();
  }

  /** Check the text at once. */
  async check() {
    this.checking?.abort();
    this.checking = new AbortController();
    try {
      this.show(await checkSteps(this.text, this.checking.signal));
    } catch (error) {
      if (error.name !== "AbortError") this.say(`The steps cannot be checked now. ${error.message}`);
    }
  }

  onInput() {
    this.number();
    this.showWhetherSaved();
    clearTimeout(this.timer);
    this.checking?.abort();
    this.timer = setTimeout(() => this.check(), PAUSE_MILLISECONDS);
  }

  onProblem(target) {
    const button = target.closest("button");
    if (button) moveTo(this.area, Number(button.dataset.line), Number(button.dataset.column));
  }

  number() {
    numberLines(this.form.querySelector("[data-gutter]"), this.area, this.marked);
  }

  showWhetherSaved() {
    const note = this.form.querySelector("[data-unsaved]");
    if (note) note.hidden = !this.isChanged;
  }

  show({ problems, warnings, notices }) {
    this.marked = new Set(problems.map((problem) => problem.line));
    this.number();
    this.area.setAttribute("aria-invalid", String(problems.length > 0));
    this.form.querySelector("[data-problems]").replaceChildren(
      ...problems.map((problem) => findingItem(problem, "failed", "problem")),
      ...warnings.map((warning) => findingItem(warning, "flaky", "warning")),
      ...notices.map((notice) => findingItem(notice, "no-verdict", "notice")),
    );
    this.say(summary(problems, warnings, notices));
  }

  say(text) {
    const status = this.form.querySelector("[data-status]");
    if (status.textContent !== text) status.textContent = text;
  }
}
