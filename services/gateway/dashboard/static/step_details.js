// What is kept of the chosen step beside its screens: the element, the log of its time, and the elements of its screen.
import { showLog } from "./step_log.js";
import { showPass } from "./step_pass.js";
import { showTree } from "./step_tree.js";
import { textElement } from "./text_elements.js";

/** Fill the part [data-details] of the trace. */
export function showDetails(trace, step) {
  const part = trace.querySelector("[data-details]");
  if (!part.firstChild) build(part);
  const { element, lost } = step.dataset;
  part.querySelector("[data-lost]").hidden = !lost;
  part.querySelector("[data-lost]").textContent = lost ? `The screen was not kept: ${lost}.` : "";
  part.querySelector("dl").replaceChildren(...(element ? facts(JSON.parse(element)) : []));
  showLog(part.querySelector("details[data-step-log]"), trace.dataset.log, step);
  showPass(part.querySelector("details[data-step-pass]"), trace, step);
  showTree(part.querySelector("details[data-step-tree]"), trace, step);
}

function build(part) {
  const lost = Object.assign(document.createElement("p"), { className: "muted", hidden: true });
  lost.dataset.lost = "";
  const list = Object.assign(document.createElement("dl"), { className: "facts" });
  part.append(lost, list, section("stepPass", "In the last run that passed"), section("stepLog", "Log at this step"), section("stepTree", "Elements of the screen"));
}

function section(name, title) {
  const details = document.createElement("details");
  details.dataset[name] = "";
  details.append(textElement("summary", title), document.createElement("div"));
  return details;
}

const FOUND_BY = { command: "its selector", rule: "a rule", cache: "the step cache", model: "the model" };

function facts({ role, id, label, text, hint, path, found_by: found }) {
  const rows = { Element: [role, text && `"${text}"`].filter(Boolean).join(" "), Id: id, Label: label, Hint: hint, Path: path, "Found by": FOUND_BY[found] };
  return Object.entries(rows).filter(([, value]) => value).flatMap(([name, value]) => [
    textElement("dt", name),
    textElement("dd", value),
  ]);
}
