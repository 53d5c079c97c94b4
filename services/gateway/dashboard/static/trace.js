// The trace of an attempt: <div data-trace> with a timeline, a filmstrip, steps, and beside them the screens of one step.
// Links and the keys j and k choose a step, whose address is #step-3. The large pictures can be zoomed.
import { showDetails } from "./step_details.js";
import { mark } from "./screen_bounds.js";

const chosen = new Map(); // the attempt, and the id of its step that somebody chose
const shown = new Map(); // the attempt, and the id of its step that the page shows
let active = null; // the attempt in which somebody has chosen last

function startTrace() {
  document.addEventListener("click", onClick);
  document.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", openAddress);
  document.addEventListener("parts:change", showAll);
  showAll();
  openAddress();
}

/** What was chosen, or what the server shows first. */
function showAll() {
  for (const trace of document.querySelectorAll("[data-trace]")) {
    const name = chosen.get(trace.dataset.trace);
    const step = (name && document.getElementById(name)) || trace.querySelector(".steps > [aria-current]");
    if (!step) continue;
    const isNew = shown.get(trace.dataset.trace) !== step.id;
    show(trace, step);
    if (isNew) revealParts(trace, step);
  }
}

function openAddress() {
  const step = document.getElementById(location.hash.slice(1));
  if (!step?.matches(".trace .steps > li")) return;
  const attempt = step.closest("details");
  if (attempt) attempt.open = true;
  choose(step);
}

function onClick(event) {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  const link = event.target.closest?.("a");
  const target = targetOf(event.target);
  if (link && "zoom" in link.dataset) zoom(link);
  else if (target && (link || !getSelection().toString())) choose(target);
  else return;
  event.preventDefault();
}

/** The step to which a click in the timeline, the filmstrip or the list leads, or the picture of no step. */
function targetOf(clicked) {
  const part = clicked.closest?.(".timeline [data-to], .filmstrip a, .trace .steps > li[data-from]");
  if (!part || part.matches("li, [data-before]")) return part;
  return document.getElementById(part.dataset.to ?? part.hash.slice(1));
}

function choose(step) {
  const trace = step.closest("[data-trace]");
  active = trace.dataset.trace;
  if (step.id) {
    chosen.set(active, step.id);
    history.replaceState(history.state, "", `#${step.id}`);
  }
  show(trace, step);
  revealParts(trace, step);
  trace.querySelector(".viewer").scrollIntoView({ block: "nearest" });
}

function revealParts(trace, step) {
  reveal(trace.querySelector(".steps"), step);
  reveal(trace.querySelector(".filmstrip"), trace.querySelector(".filmstrip [aria-current]"));
}

/** Scroll the container, and not the page, until the element is in its view. */
function reveal(container, element) {
  if (!container?.contains(element)) return;
  const [outer, inner] = [container.getBoundingClientRect(), element.getBoundingClientRect()];
  container.scrollLeft += Math.min(0, inner.left - outer.left) + Math.max(0, inner.right - outer.right);
  container.scrollTop += Math.min(0, inner.top - outer.top) + Math.max(0, inner.bottom - outer.bottom);
}

/** Show the screens and details of a step, or a picture of the filmstrip that belongs to no step. */
function show(trace, step) {
  const { label, before, beforeName = "Before", beforeArea, after, afterName = "After", afterArea } = step.dataset;
  const title = label ? `${label}: ${step.querySelector(".text a").textContent}` : beforeName;
  trace.querySelector("[data-title]").textContent = title;
  fill(trace.querySelector("[data-screen=before]"), before, beforeName, title, beforeArea);
  fill(trace.querySelector("[data-screen=after]"), after, afterName, title, afterArea);
  trace.querySelector("[data-screen=after]").hidden = !label;
  for (const current of trace.querySelectorAll("[aria-current]")) current.removeAttribute("aria-current");
  if (step.id) step.setAttribute("aria-current", "step");
  trace.querySelector(`[data-to="${CSS.escape(step.id)}"]`)?.setAttribute("aria-current", "true");
  const frames = [...trace.querySelectorAll(".filmstrip a")];
  const frame = frames.find((each) => each === step || each.hash === `#${step.id}`);
  frame?.setAttribute("aria-current", "true");
  for (const each of frames) each.tabIndex = each === (frame ?? frames[0]) ? 0 : -1;
  shown.set(trace.dataset.trace, step.id);
  showDetails(trace, step);
}

function fill(figure, source, name, title, area) {
  const screen = figure.querySelector(".screen");
  screen.hidden = !source;
  figure.querySelector("[data-missing]").hidden = Boolean(source);
  figure.querySelector("figcaption").textContent = name;
  if (source) draw(screen, source, `${name}, ${title}`, area);
}

/** The picture in a .screen, and the rectangle of the element, whose area is "x y width height" in shares of the picture. */
function draw(screen, source, caption, area) {
  const image = screen.querySelector("img");
  if (image.getAttribute("src") !== source) image.src = source;
  image.alt = caption;
  if (screen.href) screen.href = source;
  mark(screen.querySelector("rect"), area ? area.split(" ") : [0, 0, 0, 0]);
}

function zoom(link) {
  const dialog = document.getElementById("zoom");
  const image = link.querySelector("img");
  const area = ["x", "y", "width", "height"].map((name) => link.querySelector("rect")?.getAttribute(name) ?? "0");
  draw(dialog.querySelector(".screen"), link.href, image.alt, area.join(" "));
  dialog.querySelector("[data-caption]").textContent = image.alt;
  if (!dialog.open) dialog.showModal();
}

/** j and k anywhere but where somebody types; the arrow keys in a filmstrip. */
function onKey(event) {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest?.("input, select, textarea, dialog, [contenteditable]")) return;
  const strip = target.closest?.(".filmstrip");
  const move = { j: 1, k: -1, ...(strip && { ArrowRight: 1, ArrowLeft: -1 }) }[key];
  const trace = strip?.closest("[data-trace]") ?? currentTrace();
  if (!move || !trace) return;
  const steps = [...trace.querySelectorAll(strip ? ".filmstrip a" : ".steps > li[data-from]")];
  const next = steps[steps.findIndex((step) => step.hasAttribute("aria-current")) + move];
  if (!next) return;
  event.preventDefault();
  choose(targetOf(next));
  if (strip) next.focus();
}

function currentTrace() {
  const trace = active && document.querySelector(`[data-trace="${active}"]`);
  return trace || document.querySelector("[data-trace]");
}

startTrace();
