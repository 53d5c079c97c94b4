// The same step in the last run that passed, loaded when somebody opens it: both screens with what differs on them.
import { mark } from "./screen_bounds.js";
import { differingPixels } from "./pixels.js";
import { hint, textElement } from "./text_elements.js";

const SVG = "http://www.w3.org/2000/svg";
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** Show the step in <details>, at once if it is open, and otherwise when it is opened. */
export function showPass(details, trace, step) {
  const url = trace.dataset.lastPass;
  details.hidden = !url || !step.dataset.index;
  details.ontoggle = () => details.open && !details.hidden && fill(details.querySelector("div"), url, trace, step);
  details.ontoggle();
}

async function fill(part, url, trace, { dataset: { index, before } }) {
  part.dataset.shown = index;
  try {
    const pass = await load(`${url}?step_index=${index}`);
    if (part.dataset.shown === index) part.replaceChildren(...describe(pass, before, "simulated" in trace.dataset));
  } catch (error) {
    if (part.dataset.shown === index) part.replaceChildren(hint(error.message));
  }
}

async function load(url) {
  const response = await fetch(url);
  if (response.ok) return response.json();
  const { detail } = await response.json().catch(() => ({}));
  throw new Error(response.status === 404 && typeof detail === "string" ? `${detail}.` : `This could not be loaded (HTTP ${response.status}). Close and open it to try again.`);
}

function describe({ execution_id: execution, run_id: run, resolved_build_version: version, completed_at: at, steps, variant, other_variant: isOtherVariant, simulated: wasSimulated }, now, isSimulated) {
  const [step] = steps;
  const link = Object.assign(document.createElement("a"), { href: `/executions/${execution}/runs/${run}${step ? `#step-${step.passing_step_index + 1}` : ""}` });
  link.textContent = `${version ? `Build ${version}, ` : ""}${moment.format(new Date(at))}`;
  const title = document.createElement("p");
  title.append("Passed last: ", link);
  if (isOtherVariant) title.append(`, in another variant (${label(variant)}), because no earlier run of this variant passed`);
  if (!step) return [title, hint("Which step of it is the same is not known.")];
  const { elements, other_screen: isOther, notice } = step.difference;
  const then = step.screen?.picture_url;
  const pictures = Object.assign(document.createElement("div"), { className: "screens" });
  if (then) pictures.append(figure(named("Then", wasSimulated), then, elements.map((each) => each.before?.area)));
  if (now) pictures.append(figure(named("Now", isSimulated), now, elements.map((each) => each.after?.area)));
  const parts = [title];
  if (isOther) parts.push(hint("The last pass was on another screen at this step."));
  else if (notice) parts.push(hint(notice));
  else if (elements.length) parts.push(list(elements));
  else parts.push(hint("The elements are the same; other numbers, dates and times do not count."));
  parts.push(pictures);
  if (then && now && !isOther) parts.push(differingPixels(then, now));
  return parts;
}

/** The values of a variant; the empty variant has none. */
function label(variant) {
  const values = Object.entries(variant?.values ?? {}).sort().map(([name, value]) => `${name}=${value}`);
  return values.join(", ") || "without variables";
}

function named(name, isSimulated) {
  return isSimulated ? `${name}, simulated` : name;
}

function figure(name, source, areas) {
  const made = document.createElement("figure");
  const screen = Object.assign(document.createElement("div"), { className: "screen" });
  const marks = document.createElementNS(SVG, "svg");
  for (const [attribute, value] of [["viewBox", "0 0 1 1"], ["preserveAspectRatio", "none"], ["aria-hidden", "true"]]) marks.setAttribute(attribute, value);
  for (const { x, y, width, height } of areas.filter(Boolean)) {
    const rectangle = document.createElementNS(SVG, "rect");
    mark(rectangle, [x, y, width, height]);
    marks.append(rectangle);
  }
  screen.append(Object.assign(document.createElement("img"), { src: source, alt: `${name}, at this step` }), marks);
  const stage = Object.assign(document.createElement("div"), { className: "stage" });
  stage.append(screen);
  made.append(textElement("figcaption", name), stage);
  return made;
}

function list(elements) {
  const items = document.createElement("ul");
  items.append(...elements.map(({ description }) => textElement("li", description)));
  return items;
}
