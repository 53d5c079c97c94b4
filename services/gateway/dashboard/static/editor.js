// Editors of tests: <form data-editor data-test="..." data-etag="..." data-version-number="3">; without a test: a new one.
import { exchange } from "./api.js";
import { allow, clear, go, runOnce, show } from "./forms.js";
import { Conflict, createTest, saveSteps } from "./saved_steps.js";
import { StepRecheck } from "./step_recheck.js";
import { StepSource } from "./step_source.js";
import { keepToast, showToast } from "./toast.js";

/** Start the editors of the page; the browser asks before it leaves one whose text is not saved. */
function startEditors() {
  const editors = [...document.querySelectorAll("form[data-editor]")].map((form) => new Editor(form));
  addEventListener("beforeunload", (event) => {
    if (editors.some((editor) => editor.source.isChanged)) event.preventDefault();
  });
  allow("form[data-editor]");
}

class Editor {
  constructor(form) {
    this.form = form;
    this.source = new StepSource(form);
    if (form.dataset.test) this.recheck = new StepRecheck(form, this.source);
    this.read = { etag: form.dataset.etag, version: Number(form.dataset.versionNumber) };
    form.addEventListener("submit", (event) => this.onSubmit(event));
    form.querySelector("[data-reload]")?.addEventListener("click", () => this.discard());
  }

  discard() {
    this.source.keep(this.source.text);
    location.reload();
  }

  async onSubmit(event) {
    event.preventDefault();
    const button = event.submitter ?? this.form.querySelector('button[type="submit"]');
    clear(this.form);
    await runOnce(button, () => (this.form.dataset.test ? this.save() : this.create()), (error) => this.refuse(error));
  }

  refuse(error) {
    if (error.status !== 422) return showToast(error.message, "failed");
    show(this.form, error);
    this.source.check();
  }

  async save() {
    const { text } = this.source;
    try {
      const { answer, etag } = await saveSteps(this.form.dataset.test, { flow: text }, this.read);
      this.onSaved(text, answer, etag);
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      await this.showConflict(error.current);
    }
  }

  onSaved(text, { version_number: version }, etag) {
    const isSame = version === this.read.version;
    this.source.keep(text);
    this.read = { etag, version };
    this.openConflict(false);
    document.querySelector("[data-version]").textContent = version;
    showToast(isSame ? `The steps are still those of version ${version}` : `Saved as version ${version}`);
  }

  /** From now on saving is over the version whose difference is shown. */
  async showConflict({ answer: { id, version_number: version }, etag }) {
    const difference = await exchange("POST", `/tests/${id}/difference`, { text: this.source.text });
    this.read = { etag, version };
    this.form.querySelector("[data-conflict-version]").textContent = `version ${version}`;
    this.form.querySelector("[data-difference]").innerHTML = difference.answer;
    this.openConflict(true);
    this.form.querySelector("[data-conflict]").focus();
  }

  openConflict(isOpen) {
    this.form.querySelector("[data-conflict]").hidden = !isOpen;
    this.form.querySelector("[data-save]").hidden = isOpen;
  }

  async create() {
    const test = await createTest(Object.fromEntries(new FormData(this.form)));
    this.source.keep(this.source.text);
    go("/tests/{id}", test);
    return false;
  }
}

startEditors();
