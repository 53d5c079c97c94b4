// The trace of an attempt: <div data-trace> with a timeline, a filmstrip, steps, and beside them the screens of one step.
// Links choose a step, whose address is #step-3, and so do the keys j and k while the focus is in the trace, since a screen
// reader or speech input may use them elsewhere. The large pictures can be zoomed.
import { showDetails } from "./step_details.js";
import { showScreens, zoom } from "./step_screens.js";

const MARGIN = 4; // of the ring around what is chosen

const chosen = new Map(); // the attempt, and the id of its step that somebody chose
const shown = new Map(); // the attempt, and the id of its step that the page shows
const contents = new WeakMap(); // the trace, and what it shows of that step

function startTrace() {
  document.addEventListener("click", onClick);
  document.addEventListener("keydown", onKey);
  document.addEventListener("focusin", onFocus);
  window.addEventListener("hashchange", openAddress);
  document.addEventListener("parts:change", showAll);
  showAll();
  openAddress();
  window.addEventListener("load", () => setTimeout(openAddress)); // until then the browser scrolls to the step
}

/** What was chosen, or what the server shows first. */
function showAll() {
  for (const trace of document.querySelectorAll("[data-trace]")) {
    const name = chosen.get(trace.dataset.trace);
    const step = (name && document.getElementById(name)) || trace.querySelector(".steps > [aria-current]");
    if (!step) continue;
    const before = shown.get(trace.dataset.trace);
    const follow = before !== step.id && partsOf(trace, document.getElementById(before)).map(([part, old]) => !old || isInView(part, old));
    show(trace, step);
    if (follow) partsOf(trace, step).forEach(([part, now], index) => follow[index] && reveal(part, now));
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

/** Who reads what is beside a step stays at it. */
function onFocus({ target }) {
  const name = target.closest(".trace .viewer")?.closest("[data-trace]").dataset.trace;
  if (name && shown.get(name)) chosen.set(name, shown.get(name));
}

/** The step to which a click in the timeline, the filmstrip or the list leads, or the picture of no step. */
function targetOf(clicked) {
  const part = clicked.closest?.(".timeline [data-to], .filmstrip a, .trace .steps > li[data-from]");
  if (!part || part.matches("li, [data-before]")) return part;
  return document.getElementById(part.dataset.to ?? part.hash.slice(1));
}

function choose(step) {
  const trace = step.closest("[data-trace]");
  if (step.id) {
    const isNewest = trace.closest("[data-live]") && !step.nextElementSibling;
    if (isNewest) chosen.delete(trace.dataset.trace); // follow those that come
    else chosen.set(trace.dataset.trace, step.id);
    history.replaceState(history.state, "", `#${step.id}`);
  }
  show(trace, step);
  for (const [part, inside] of partsOf(trace, step)) reveal(part, inside);
  trace.querySelector(".viewer").scrollIntoView({ block: "nearest" });
}

/** The list and the filmstrip with what shows the step there. */
function partsOf(trace, step) {
  const [list, strip] = [trace.querySelector(".steps"), trace.querySelector(".filmstrip")];
  return [[list, step], [strip, strip && step && frameOf(strip, step)]];
}

function frameOf(strip, step) {
  return [...strip.querySelectorAll("a")].find((frame) => frame === step || frame.hash === `#${step.id}`);
}

/** Scroll the container, and not the page, until the element is in its view. */
function reveal(container, element) {
  if (!container?.contains(element)) return;
  const [outer, inner] = [container.getBoundingClientRect(), element.getBoundingClientRect()];
  container.scrollLeft += Math.min(0, inner.left - outer.left - MARGIN) + Math.max(0, inner.right - outer.right + MARGIN);
  container.scrollTop += Math.min(0, inner.top - outer.top) + Math.max(0, inner.bottom - outer.bottom);
}

/** Whether the container shows a part of the element. */
function isInView(container, element) {
  const [outer, inner] = [container.getBoundingClientRect(), element.getBoundingClientRect()];
  return inner.bottom > outer.top && inner.top < outer.bottom && inner.right > outer.left && inner.left < outer.right;
}

/** Show the screens and details of a step, or a picture of the filmstrip that belongs to no step. */
function show(trace, step) {
  for (const current of trace.querySelectorAll("[aria-current]")) current.removeAttribute("aria-current");
  if (step.id) step.setAttribute("aria-current", "step");
  trace.querySelector(`[data-to="${CSS.escape(step.id)}"]`)?.setAttribute("aria-current", "true");
  const frames = [...trace.querySelectorAll(".filmstrip a")];
  const [, [, frame]] = partsOf(trace, step);
  frame?.setAttribute("aria-current", "true");
  for (const each of frames) each.tabIndex = each === (frame ?? frames[0]) ? 0 : -1;
  shown.set(trace.dataset.trace, step.id);
  const content = JSON.stringify([step.dataset, step.querySelector(".text a")?.textContent, trace.dataset]);
  if (contents.get(trace) === content) return; // what is marked and read beside it stays
  contents.set(trace, content);
  showScreens(trace, step);
  showDetails(trace, step);
}

/** j and k in a trace, but not where somebody types; the arrow keys in its filmstrip. */
function onKey(event) {
  const { key, target } = event;
  const trace = target.closest("[data-trace]");
  const hasModifier = event.ctrlKey || event.metaKey || event.altKey || event.shiftKey;
  if (!trace || hasModifier || event.isComposing || target.closest("input, select, textarea, [contenteditable]")) return;
  const strip = target.closest(".filmstrip");
  const move = { j: 1, k: -1, ...(strip && { ArrowRight: 1, ArrowLeft: -1 }) }[key];
  if (!move) return;
  const steps = [...trace.querySelectorAll(strip ? ".filmstrip a" : ".steps > li[data-from]")];
  const next = steps[steps.findIndex((step) => step.hasAttribute("aria-current")) + move];
  if (!next) return;
  event.preventDefault();
  choose(targetOf(next));
  if (strip) next.focus();
  else if (target.closest(".steps")) next.focus({ preventScroll: true });
}

startTrace();
