// The elements of a step's screen, loaded when somebody opens them: a list that can be searched. Pressing one marks it.
import { mark } from "./screen_bounds.js";

const SHOWN_ELEMENTS = 300;

let read = { url: "", elements: null };

/** Show the elements in <details>, at once if it is open, and otherwise when it is opened. */
export function showTree(details, trace, step) {
  const url = step.dataset.tree;
  details.hidden = !url;
  details.ontoggle = () => details.open && url && fill(details.querySelector("div"), url, trace);
  details.ontoggle();
}

async function fill(part, url, trace) {
  part.dataset.shown = url;
  try {
    const elements = await readElements(url);
    if (part.dataset.shown !== url) return;
    const [search, list, count] = controls(part);
    const update = () => list.replaceChildren(...matching(elements, search.value, count).map((each) => item(each, elements[0], trace)));
    search.oninput = update;
    update();
  } catch (error) {
    part.textContent = `The elements could not be loaded (${error.message}). Close and open this to try again.`;
  }
}

function controls(part) {
  const search = part.querySelector("input");
  if (search) return [search, part.querySelector("ul"), part.querySelector("p")];
  const made = Object.assign(document.createElement("input"), { className: "input", type: "search", placeholder: "Search elements" });
  made.setAttribute("aria-label", "Search elements");
  const list = Object.assign(document.createElement("ul"), { className: "elements" });
  const count = Object.assign(document.createElement("p"), { className: "hint" });
  count.setAttribute("role", "status");
  part.replaceChildren(made, list, count);
  return [made, list, count];
}

/** The elements from the whole screen to its parts, each with its depth; a tree may be deeper than recursion goes. */
async function readElements(url) {
  if (read.url === url) return read.elements;
  const response = await fetch(url);
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  const elements = [];
  const waiting = [{ element: await response.json(), depth: 0 }];
  while (waiting.length) {
    const { element, depth } = waiting.pop();
    const { role, id, text, label, hint, enabled, visible, bounds } = element;
    const words = [role, text && `"${text}"`, label && label !== text && `label "${label}"`, hint && `hint "${hint}"`, id && `id ${id}`];
    const states = [enabled === false && "disabled", visible === false && "hidden"];
    elements.push({ depth, bounds, text: [...words, ...states].filter(Boolean).join(" ") });
    waiting.push(...(element.children ?? []).map((child) => ({ element: child, depth: depth + 1 })).reverse());
  }
  read = { url, elements };
  return elements;
}

function matching(elements, searched, count) {
  const words = searched.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = elements.filter(({ text }) => words.every((word) => text.toLowerCase().includes(word)));
  const shown = matches.slice(0, SHOWN_ELEMENTS);
  count.textContent = `${matches.length} of ${elements.length} elements${matches.length > shown.length ? `, the first ${shown.length} are shown` : ""}`;
  return shown;
}

function item({ depth, bounds, text }, root, trace) {
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: `${" ".repeat(2 * Math.min(depth, 12))}${text}` });
  button.setAttribute("aria-pressed", "false");
  button.onclick = () => {
    for (const each of button.closest("ul").querySelectorAll("button")) each.setAttribute("aria-pressed", String(each === button));
    markElement(trace.querySelector("[data-screen=before] rect"), bounds, root.bounds);
  };
  const line = document.createElement("li");
  line.append(button);
  return line;
}

function markElement(rectangle, bounds, whole) {
  if (!bounds || !whole || !whole[2] || !whole[3]) return;
  const [x, y, width, height] = bounds;
  mark(rectangle, [(x - whole[0]) / whole[2], (y - whole[1]) / whole[3], width / whole[2], height / whole[3]]);
}
