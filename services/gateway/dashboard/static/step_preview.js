// Tries a step on a recorded screen: <div data-preview data-source-url="..."> with a form, an answer and a screenshot.
import { call, exchange } from "./api.js";
import { allow, submitOnce } from "./forms.js";
import { readBounds, readScreenWidth } from "./screen_bounds.js";
import { textElement } from "./text_elements.js";

const SVG = "http://www.w3.org/2000/svg";

/** Start the previews of the page. */
function startPreviews() {
  document.querySelectorAll("[data-preview]").forEach((part) => {
    const form = part.querySelector("form");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      submitOnce(form, () => tryStep(part, form));
    });
  });
  allow("[data-preview] form");
}

async function tryStep(part, form) {
  const source = await readSource(part);
  const answer = await call("POST", "/api/v1/tests/resolve", { step: readStep(form.elements.step.value), source });
  part.querySelector("[data-answer]").replaceChildren(...describe(answer));
  mark(part, source, answer.element ? [answer.element] : answer.candidates);
}

/** The page source, which is read once. */
async function readSource(part) {
  part.source ??= (await exchange("GET", part.dataset.sourceUrl)).answer;
  return part.source;
}

/** A sentence, or a command if it is written as a JSON object. */
function readStep(text) {
  if (!text.trim().startsWith("{")) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function describe({ action, element, value, candidates, message, reason }) {
  const title = textElement("h2", reason ? `Nothing: ${reason.replaceAll("_", " ")}` : action.replaceAll("_", " "));
  const found = element ? [element] : candidates;
  const parts = [title];
  if (value !== null) parts.push(textElement("p", `Value: ${value}`));
  if (message) parts.push(textElement("p", message));
  if (found.length) parts.push(textElement("p", element ? "The element:" : `Elements that fit: ${found.length}`), list(found));
  return parts;
}

function list(elements) {
  const items = document.createElement("ul");
  items.append(...elements.map((element) => textElement("li", attributes(element))));
  return items;
}

function attributes(element) {
  const shown = Object.entries(element).filter(([, value]) => value !== "" && value !== "false");
  return shown.map(([name, value]) => `${name}: ${value}`).join(", ");
}

/** Put a frame around the elements whose bounds the page source has; the screenshot may have another scale. */
function mark(part, source, elements) {
  const screen = part.querySelector("[data-screen]");
  if (!screen) return;
  screen.querySelector("svg")?.remove();
  const image = screen.querySelector("img");
  const width = readScreenWidth(source);
  const frames = elements.map(readBounds).filter(Boolean).map(frame);
  if (!frames.length || !width) return;
  const drawing = document.createElementNS(SVG, "svg");
  drawing.setAttribute("viewBox", `0 0 ${width} ${(width * image.naturalHeight) / image.naturalWidth}`);
  drawing.setAttribute("aria-hidden", "true");
  drawing.append(...frames);
  screen.append(drawing);
}

function frame(bounds) {
  const rectangle = document.createElementNS(SVG, "rect");
  for (const [name, value] of Object.entries(bounds)) rectangle.setAttribute(name, value);
  return rectangle;
}

startPreviews();
