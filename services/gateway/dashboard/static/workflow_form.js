// Makes or changes a workflow: <form data-workflow-form="ID or nothing" data-etag="..." data-run-config="{}">.
import { call, exchange } from "./api.js";
import { followApp, versionOf } from "./build_choices.js";
import { ChosenTests } from "./chosen_tests.js";
import { problemOf } from "./field_errors.js";
import { allow, clear, go, runOnce, show } from "./forms.js";
import { comparable, isSame, settingOf, withoutNulls } from "./setting_values.js";
import { TestSearch } from "./test_search.js";
import { keepToast, showToast } from "./toast.js";
import { parseVariables } from "./variable_lines.js";

const NAMES = { test_ids: "the tests", build_config: "the builds", run_config: "the settings", env: "the variables", max_parallel: "the runs at a time" };

class WorkflowForm {
  constructor(form) {
    this.form = form;
    this.tests = new ChosenTests(form.querySelector("[data-chosen-tests]"), (count) => this.onCount(count));
    for (const field of form.querySelectorAll("[data-build]")) followApp(...field.querySelectorAll("select"), () => {});
    this.runConfig = JSON.parse(form.dataset.runConfig);
    this.etag = form.dataset.etag;
    this.read = this.fields();
    new TestSearch(form, this.tests);
    form.addEventListener("submit", (event) => this.onSubmit(event));
    addEventListener("beforeunload", (event) => {
      if (!this.isSaved && this.isChanged) event.preventDefault();
    });
  }

  get isChanged() {
    try {
      return Object.keys(this.changes()).length > 0;
    } catch {
      return true;
    }
  }

  onCount(count) {
    this.form.querySelector("[data-chosen-count]").textContent = count === 1 ? "1 test" : `${count} tests`;
  }

  /** What the form has, by the names of REST. Error with `fields`: something cannot be sent. */
  fields() {
    const { name, description, tags, env, max_parallel: most } = this.form.elements;
    return {
      name: name.value,
      description: description.value || null,
      test_ids: this.tests.ids,
      tags: tags.value.split(/\r?\n/).map((tag) => tag.trim()).filter(Boolean),
      build_config: this.builds(),
      run_config: this.settings(),
      env: parseVariables(env.value),
      max_parallel: most.value === "" ? null : Number(most.value),
    };
  }

  builds() {
    const config = {};
    for (const field of this.form.querySelectorAll("[data-build]")) {
      const [app, version] = field.querySelectorAll("select");
      if (app.value) config[field.dataset.build] = { app_id: app.value, pinned_version: versionOf(version) };
    }
    return Object.keys(config).length ? config : null;
  }

  /** The stored settings with those of the form; what the form does not have stays. */
  settings() {
    const config = structuredClone(this.runConfig);
    for (const field of this.form.querySelectorAll("[data-setting]")) {
      const [name, folder] = field.name.split(".").reverse();
      const place = folder ? (config[folder] ??= {}) : config;
      place[name] = settingOf(field);
    }
    return withoutNulls(config);
  }

  changes() {
    const fields = this.fields();
    return Object.fromEntries(Object.entries(fields).filter(([name, value]) => !isSame(value, this.read[name])));
  }

  async onSubmit(event) {
    event.preventDefault();
    clear(this.form);
    await runOnce(this.form.querySelector('button[type="submit"]'), () => this.save(), (error) => this.refuse(error));
  }

  async save() {
    const id = this.form.dataset.workflowForm;
    const answer = id ? await this.change(`/api/v1/workflows/${id}`) : await call("POST", "/api/v1/workflows", this.fields());
    this.isSaved = true;
    keepToast(id ? "Saved" : "The workflow is created", "passed");
    go("/workflows/{id}", id ? { id } : answer);
    return false;
  }

  async change(path) {
    const changes = this.changes();
    if (!Object.keys(changes).length) return;
    try {
      await call("PATCH", path, changes, { "If-Match": this.etag });
    } catch (error) {
      if (error.status !== 412) throw error;
      await this.refuseOverwriting(path, changes);
      await call("PATCH", path, changes, { "If-Match": this.etag });
    }
  }

  /** What was changed meanwhile becomes known, so that saving again replaces it. Error: it is among the changes. */
  async refuseOverwriting(path, changes) {
    const { answer: present, etag } = await exchange("GET", path);
    const theirs = Object.keys(changes).filter((name) => !isSame(comparable(present[name]), comparable(this.read[name])));
    this.etag = etag;
    for (const name of theirs) this.read[name] = comparable(present[name]);
    if (theirs.length) {
      const what = theirs.map((name) => NAMES[name] ?? `the ${name}`).join(" and ");
      throw new Error(`Somebody has changed ${what} meanwhile. Save again to replace that, or load the page again to see it.`);
    }
  }

  refuse(error) {
    const missing = (error.issues ?? []).map(({ path }) => /^test_ids\.(\d+)$/.exec(path)?.[1]).filter(Boolean);
    if (missing.length) return this.refuseMissing(missing);
    if ([...this.form.elements].some(({ name }) => problemOf(name, error))) show(this.form, error);
    else showToast(error.message, "failed");
  }

  refuseMissing(places) {
    this.tests.markMissing(places.map(Number));
    const note = document.getElementById("test_ids-error");
    note.textContent = "Tests have been deleted meanwhile: they are marked. Remove them, and save again.";
    note.hidden = false;
    note.scrollIntoView({ block: "nearest" });
  }
}

for (const form of document.querySelectorAll("form[data-workflow-form]")) new WorkflowForm(form);
allow("form[data-workflow-form]");
