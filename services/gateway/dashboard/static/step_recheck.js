// Whether the step under the cursor of an editor holds on the screens of past runs, while one types.
import { exchange } from "./api.js";
import { textElement } from "./text_elements.js";

const PAUSE_MILLISECONDS = 600;
const STEP = /^-(\s|$)/;
const HEADER_END = /^---\s*$/;
const EXAMPLES = 3;
const PASSED = "where it passed";

/** The part [data-recheck] of a form with an editor; `source` is its StepSource. */
export class StepRecheck {
  constructor(form, source) {
    this.part = form.querySelector("[data-recheck]");
    this.path = `/api/v1/tests/${form.dataset.test}/recheck`;
    this.source = source;
    source.area.addEventListener("input", () => this.wait());
    for (const event of ["keyup", "click", "focus"]) source.area.addEventListener(event, () => this.onMove());
  }

  onMove() {
    if (JSON.stringify(this.question()) !== this.asked) this.wait();
  }

  wait() {
    clearTimeout(this.timer);
    this.checking?.abort();
    this.timer = setTimeout(() => this.check(), PAUSE_MILLISECONDS);
  }

  question() {
    return questionAt(this.source.saved, this.source.text, this.source.area.selectionStart);
  }

  async check() {
    const question = this.question();
    this.asked = JSON.stringify(question);
    this.checking?.abort();
    this.checking = new AbortController();
    if (question === null) return this.show("Put the cursor into a step.");
    try {
      const { answer } = await exchange("POST", this.path, question, { signal: this.checking.signal });
      this.show(...describe(answer, "step_path" in question));
    } catch (error) {
      if (error.name === "AbortError") return;
      this.show(error.status === 422 ? "This step cannot be checked." : `Nothing is known now. ${error.message}`);
    }
  }

  show(text, ...parts) {
    const status = this.part.querySelector("[data-status]");
    if (status.textContent !== text) status.textContent = text;
    this.part.querySelector("[data-answer]").replaceChildren(...parts);
  }
}

/**
 * What to ask about the step at an offset of the text: the step as a flow, and where it stands in the saved steps if that is
 * certain; null outside of all steps.
 */
export function questionAt(saved, text, offset) {
  const [old, now] = [splitSteps(saved), splitSteps(text)];
  const line = text.slice(0, offset).split("\n").length - 1;
  const index = now.steps.findLastIndex((step) => step.line <= line);
  if (index < 0) return null;
  const place = placeOf(index, old.steps.map(textOf), now.steps.map(textOf));
  const flow = now.steps[index].text;
  return place === null ? { flow } : { flow, step_path: `steps[${place + old.before}]` };
}

function textOf({ text }) {
  return text.trim();
}

/** The steps with their lines; `before` is how many values stand before them in the stored steps: the header of a flow. */
function splitSteps(text) {
  const lines = text.split("\n");
  const first = lines.findIndex((line) => HEADER_END.test(line)) + 1;
  const hasHeader = lines.slice(0, Math.max(0, first - 1)).some((line) => line.trim() && !line.startsWith("#"));
  const steps = [];
  for (const [number, line] of lines.entries()) {
    if (number < first) continue;
    if (STEP.test(line)) steps.push({ line: number, text: line });
    else if (steps.length) steps.at(-1).text += `\n${line}`;
  }
  return { steps, before: hasHeader ? 1 : 0 };
}

/** Which of the old steps the new one is, or replaces; null if that is not certain. */
function placeOf(index, old, now) {
  let begin = 0;
  while (begin < Math.min(old.length, now.length) && old[begin] === now[begin]) begin += 1;
  let end = 0;
  while (end < Math.min(old.length, now.length) - begin && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  if (index < begin || old.length === now.length) return index;
  return index >= now.length - end ? index - now.length + old.length : null;
}

function describe({ step, runs, passed, failed, others, other_steps, reasons, examples, asserts_nothing: nothing }, isOld) {
  const parts = [textElement("p", step, "checked-step")];
  const ran = [...(isOld ? [[PASSED, passed], ["where it failed", failed]] : []), ["of other steps", others]];
  const lines = ran.filter(([where, counts]) => total(counts) && !isSaid(where, counts)).map(([where, counts]) => textElement("li", counted(where, counts)));
  lines.push(...reasons.filter(({ group }) => group !== "other").map(({ reason, count }) => textElement("li", `${count}: ${reason}`)));
  if (nothing) lines.push(textElement("li", "It holds on every screen of other steps: it checks nothing."));
  else if (other_steps.length) lines.push(textElement("li", `It also holds at: ${other_steps.slice(0, EXAMPLES).map(({ text }) => text).join("; ")}`));
  lines.push(...examples.slice(0, EXAMPLES).map(exampleItem));
  const list = document.createElement("ul");
  list.append(...lines);
  if (lines.length) parts.push(list);
  return [summary(runs, isOld ? passed : others, isOld), ...parts];
}

/** One sentence for those who hear it. */
function summary(runs, counts, isOld) {
  if (!runs) return "No run of this test has kept its screens.";
  if (!total(counts)) return isOld ? "This step has left no screen in past runs." : "There are no screens of other steps.";
  if (counts.does_not_hold && isOld) return `Does not hold on ${counts.does_not_hold} of ${screens(total(counts))} where it passed.`;
  return `Holds on ${counts.holds} of ${screens(total(counts))}${isOld ? " where it passed" : ""}.`;
}

/** Whether the summary says all of it. */
function isSaid(where, { not_known: unknown }) {
  return where === PASSED && !unknown;
}

function counted(where, counts) {
  const { holds, does_not_hold: fails, not_known: unknown } = counts;
  if (!holds && !fails) return `${screens(unknown)} ${where}: not known`;
  const parts = [`holds on ${holds}`, fails && `not on ${fails}`, unknown && `not known on ${unknown}`];
  return `${screens(total(counts))} ${where}: ${parts.filter(Boolean).join(", ")}`;
}

function screens(count) {
  return `${count} screen${count === 1 ? "" : "s"}`;
}

function total({ holds, does_not_hold: fails, not_known: unknown }) {
  return holds + fails + unknown;
}

function exampleItem({ verdict, element, execution_id: execution, run_id: run, step_index: index, step_text: text }) {
  const item = document.createElement("li");
  const link = textElement("a", `step ${index + 1}, ${text}`);
  link.href = `/executions/${execution}/runs/${run}#step-${index + 1}`;
  item.append(`${verdict.replaceAll("_", " ")}${element ? ` (${element})` : ""} at `, link);
  return item;
}
