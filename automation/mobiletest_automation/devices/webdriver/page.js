// Reads the live page and prepares actions in it. Called with a request {what: "snapshot" | "source" | "aim" | "field" |
// "held" | "blur" | "put", ...}; returns JSON text, for "aim" with `refer` also the node itself.
//
// Nodes keep their numbers as long as the document lives; a number of another document, whose token differs, finds nothing.
const request = arguments[0];
const KEY = Symbol.for("mobiletest.page");
const page = (window[KEY] ??= {
  token: Math.random().toString(36).slice(2),
  numbers: new WeakMap(),
  nodes: new Map(),
  next: 1,
  open: null, // the <select> whose options are shown, as in a phone's picker
});

const SKIPPED = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "HEAD", "META", "LINK", "TITLE", "BASE"]);
const PICKED_BY_VALUE = new Set(["date", "time", "datetime-local", "month", "week", "color", "range"]);
const NOT_TYPED = new Set(["button", "submit", "reset", "checkbox", "radio", "file", "image", "hidden"]);
const LIMITS = { nodes: 20000, depth: 200, text: 2000, attribute: 300, held: 20000 };

const numberOf = (node) => {
  let number = page.numbers.get(node);
  if (number === undefined) {
    number = page.next++;
    page.numbers.set(node, number);
    page.nodes.set(number, new WeakRef(node));
  }
  return number;
};
const nodeOf = (token, number) => {
  const node = token === page.token ? page.nodes.get(number)?.deref() : undefined;
  return node?.isConnected ? node : null;
};
// A form called "title" stands in its place.
const titleOf = () => (typeof document.title === "string" ? document.title : "");
const viewOf = (node) => node.ownerDocument.defaultView;
// Read from the prototype: in a form, the property of that name may be a field with this name.
const namedNodesOf = Object.getOwnPropertyDescriptor(Element.prototype, "attributes").get;
const childrenOf = (node) => {
  if (node.shadowRoot) return node.shadowRoot.childNodes;
  if (node.localName === "slot") {
    const assigned = node.assignedNodes();
    return assigned.length ? assigned : node.childNodes;
  }
  return node.childNodes;
};
const frameBody = (node) => {
  if (node.localName !== "iframe" && node.localName !== "frame") return null;
  try {
    return node.contentDocument?.body ?? null;
  } catch {
    return null; // of another origin
  }
};
const parentOf = (node) =>
  node.assignedSlot ?? node.parentElement ?? (node.getRootNode() instanceof viewOf(node).ShadowRoot ? node.getRootNode().host : null);
const holds = (outer, inner) => {
  for (let node = inner; node; node = parentOf(node)) if (node === outer) return true;
  return false;
};
// Where the viewport of the node's document begins in that of the top one.
const offsetOf = (node) => {
  let x = 0;
  let y = 0;
  for (let view = viewOf(node); view !== window; view = view.parent) {
    const frame = view.frameElement;
    const box = frame.getBoundingClientRect();
    x += box.left + frame.clientLeft;
    y += box.top + frame.clientTop;
  }
  return { x, y };
};
const deepestFocus = () => {
  let focus = document.activeElement;
  for (;;) {
    const inner = focus?.shadowRoot?.activeElement ?? frameBody(focus ?? document.body)?.ownerDocument.activeElement;
    if (!inner || inner === focus) return focus;
    focus = inner;
  }
};
const intersect = (a, b) => ({
  left: Math.max(a.left, b.left),
  top: Math.max(a.top, b.top),
  right: Math.min(a.right, b.right),
  bottom: Math.min(a.bottom, b.bottom),
});
const shifted = (box, by) => ({ left: box.left + by.x, top: box.top + by.y, right: box.right + by.x, bottom: box.bottom + by.y });
const screen = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
// Whether enough of it is inside: a tenth of its area, of a line a tenth of its length, or all that fits on the screen.
const enough = (box, clip) => {
  const seen = intersect(box, clip);
  const [across, down] = [seen.right - seen.left, seen.bottom - seen.top];
  if (across < 0 || down < 0) return false;
  if (across >= innerWidth && down >= innerHeight) return true;
  const share = (part, whole) => (whole < 1 ? 1 : part / whole);
  return share(across, box.right - box.left) * share(down, box.bottom - box.top) >= 0.1;
};
const rendered = (node) =>
  node.checkVisibility
    ? node.checkVisibility({ opacityProperty: true, visibilityProperty: true, checkOpacity: true, checkVisibilityCSS: true })
    : getComputedStyle(node).visibility === "visible" && node.getClientRects().length > 0;
const modal = () => {
  const open = [...document.querySelectorAll("dialog[open]")].filter((each) => each.matches(":modal"));
  const aria = [...document.querySelectorAll('[aria-modal="true"]')].filter((each) => !each.closest("dialog") && rendered(each));
  return [...open, ...aria].pop() ?? null;
};
const wordsOf = (node) => {
  if (!node) return "";
  if (node.nodeType === 3) return node.data;
  if (node.nodeType !== 1 || SKIPPED.has(node.tagName) || ["input", "select", "textarea"].includes(node.localName)) return "";
  return [...node.childNodes].map(wordsOf).join(" ");
};
const labelsOf = (node) => {
  const ids = node.getAttribute("aria-labelledby");
  const named = ids ? [...new Set(ids.split(/\s+/).slice(0, 100))].map((id) => node.getRootNode().getElementById(id)) : [...((node.localName !== "form" && node.labels) || [])];
  return named.filter(Boolean).map((each) => wordsOf(each).slice(0, LIMITS.attribute));
};
const masked = (node) => node.localName === "input" && node.type === "password";
const attributesOf = (node) => {
  const found = {};
  for (const { name, value } of [...namedNodesOf.call(node)].slice(0, 40)) {
    found[name] = name === "value" && masked(node) ? "" : value.slice(0, LIMITS.attribute);
  }
  return found;
};
const valueOf = (node) => {
  if (node.localName === "input") return masked(node) ? "•".repeat(node.value.length) : node.value.slice(0, LIMITS.text);
  if (node.localName === "textarea") return node.value.slice(0, LIMITS.text);
  if (node.localName === "select") return [...node.selectedOptions].map((option) => option.label).join(", ");
  return null;
};

const hitAt = (node, x, y) => {
  let hit = node.getRootNode().elementFromPoint(x, y);
  while (hit?.shadowRoot && hit !== node && !holds(node, hit)) {
    const deeper = hit.shadowRoot.elementFromPoint(x, y);
    if (!deeper || deeper === hit) break;
    hit = deeper;
  }
  return hit;
};
// Whether an ancestor clips the node at the point, so that a tap there would not hit the node.
const cutOff = (node, x, y) => {
  for (let outer = parentOf(node); outer; outer = parentOf(outer)) {
    const style = viewOf(outer).getComputedStyle(outer);
    const clips = style.overflowX !== "visible" || style.overflowY !== "visible";
    if (!clips || outer === outer.ownerDocument.body || outer === outer.ownerDocument.documentElement) continue;
    const box = outer.getBoundingClientRect();
    if (x < box.left || x > box.right || y < box.top || y > box.bottom) return true;
  }
  return false;
};
const reaches = (node, hit, x, y) =>
  hit !== null &&
  (holds(node, hit) || (holds(hit, node) && !cutOff(node, x, y)) || (hit.closest("label")?.control ?? null) === node);
// What a tap at the point of the node's viewport hits instead of the node, there or over its frames: null if nothing covers it,
// true if the point is not on the screen.
const inTheWay = (node, x, y) => {
  const hit = hitAt(node, x, y);
  if (!reaches(node, hit, x, y)) return hit ?? true;
  const frame = viewOf(node).frameElement;
  if (!frame) return null;
  const box = frame.getBoundingClientRect();
  return inTheWay(frame, x + box.left + frame.clientLeft, y + box.top + frame.clientTop);
};
const opaque = (node) => {
  const style = viewOf(node).getComputedStyle(node);
  const [, , , alpha = "1"] = style.backgroundColor.match(/[\d.]+/g) ?? ["0", "0", "0", "0"];
  return Number(alpha) * Number(style.opacity) > 0.9 || ["img", "canvas", "video"].includes(node.localName);
};
// Whether something opaque covers all of it, judged by three points.
const buried = (node, seen, offset) =>
  [0.5, 0.15, 0.85].every((share) => {
    const x = seen.left + (seen.right - seen.left) * share - offset.x;
    const y = seen.top + (seen.bottom - seen.top) * share - offset.y;
    let hit = hitAt(node, x, y);
    if (hit === null || reaches(node, hit, x, y)) return false;
    for (; hit && !holds(hit, node); hit = parentOf(hit)) if (opaque(hit)) return true;
    return false;
  });

// The numbers of the CSS selectors that a node matches, in its own document, frame or shadow tree.
const cssMatcher = (selectors) => {
  const trees = new Map();
  return (node) => {
    const tree = node.getRootNode();
    if (!trees.has(tree)) trees.set(tree, selectors.map((each) => new Set(tree.querySelectorAll(each))));
    return trees.get(tree).flatMap((found, index) => (found.has(node) ? [index] : []));
  };
};
const invalidCss = (selectors) =>
  selectors.find((each) => {
    try {
      document.createDocumentFragment().querySelector(each);
    } catch {
      return true;
    }
  });

function snapshot() {
  const css = request.css ?? [];
  const invalid = invalidCss(css);
  if (invalid !== undefined) return { invalid };
  const cssOf = cssMatcher(css);
  let left = LIMITS.nodes;
  let cut = false;
  const focus = deepestFocus();
  const top = modal();

  const optionsOf = (node, box) =>
    [...node.options].map((option, index) => ({
      n: numberOf(option),
      t: "option",
      a: attributesOf(option),
      k: [option.label],
      b: [box.left, box.bottom + index * (box.bottom - box.top), box.right - box.left, box.bottom - box.top],
      s: true,
      d: option.disabled,
      chosen: option.selected,
      css: cssOf(option),
    }));

  const visit = (node, clip, offset, around, depth) => {
    if (SKIPPED.has(node.tagName)) return null;
    if (left <= 0 || depth > LIMITS.depth) {
      cut = true;
      return null;
    }
    const style = viewOf(node).getComputedStyle(node);
    if (style.display === "none") return null;
    left -= 1;
    const rect = node.getBoundingClientRect();
    const box = shifted(rect, offset);
    const fixed = style.position === "fixed";
    const within = fixed ? screen : clip;
    const clips = style.overflowX !== "visible" || style.overflowY !== "visible";
    const inner = clips && node !== document.body && node !== document.documentElement ? intersect(within, box) : within;
    const hidden = around.hidden || node.getAttribute("aria-hidden") === "true";
    const inert = top !== null && !around.modal && node !== top;
    const here = { hidden, modal: around.modal || node === top, cursor: style.cursor };
    const kids = [];
    if (!["select", "textarea"].includes(node.localName)) {
      for (const child of childrenOf(node)) {
        if (child.nodeType === 3) {
          const words = child.data.replace(/\s+/g, " ");
          if (words !== "" && style.visibility === "visible") kids.push(words.slice(0, LIMITS.text));
        } else if (child.nodeType === 1) {
          const seen = visit(child, inner, offset, here, depth + 1);
          if (seen) kids.push(seen);
        }
      }
    }
    const body = frameBody(node);
    if (body) {
      const shift = { x: box.left + node.clientLeft, y: box.top + node.clientTop };
      const seen = visit(body, intersect(inner, box), shift, here, depth + 1);
      if (seen) kids.push(seen);
    }
    if (node === page.open) kids.push(...optionsOf(node, box));
    const inside = kids.some((kid) => kid.s === true);
    // A line, with a width or a height only, is there too, but not what is collapsed to one.
    const sides = (rect.width >= 1) + (rect.height >= 1);
    const there = !hidden && !inert && rendered(node) && sides > (clips ? 1 : 0) && enough(box, within);
    const shown = there && (inside || style.pointerEvents === "none" || !buried(node, intersect(box, within), offset));
    const seen = {
      n: numberOf(node),
      t: node.localName,
      a: attributesOf(node),
      k: kids,
      b: [box.left, box.top, rect.width < 1 ? 0 : rect.width, rect.height < 1 ? 0 : rect.height],
      s: shown || inside,
      d: node.matches(":disabled") || node.closest('[aria-disabled="true"]') !== null,
      l: labelsOf(node),
    };
    if (css.length) seen.css = cssOf(node);
    const value = valueOf(node);
    if (value !== null) seen.v = value;
    if (typeof node.checked === "boolean") seen.c = node.checked;
    if (node === focus && node !== document.body) seen.f = true;
    if (node.onclick || (style.cursor === "pointer" && around.cursor !== "pointer")) seen.o = true;
    return seen;
  };

  const root = document.body ? visit(document.body, screen, { x: 0, y: 0 }, { hidden: false, modal: false }, 0) : null;
  return { token: page.token, width: innerWidth, height: innerHeight, title: titleOf(), url: location.href, cut, root };
}

// What it is and its name, which may be empty.
const describe = (node) => {
  const named = node.getAttribute?.("aria-label") || wordsOf(node).replace(/\s+/g, " ").trim() || node.id;
  return [node.localName, `${named}`.slice(0, LIMITS.text)];
};
const changed = (node) => {
  for (const type of ["input", "change"]) node.dispatchEvent(new Event(type, { bubbles: true, composed: true }));
};
// The box to tap: of an inline element broken over lines only the widest one certainly belongs to it.
const boxOf = (node) => {
  const boxes = [...node.getClientRects()].filter((box) => box.width >= 1 && box.height >= 1);
  return boxes.sort((a, b) => b.width * b.height - a.width * a.height)[0] ?? null;
};
const moving = (node) =>
  document.getAnimations().some(
    (each) =>
      each.playState === "running" &&
      each.effect?.target?.contains?.(node) &&
      each.effect.getComputedTiming().iterations !== Infinity,
  );

function aim() {
  const node = nodeOf(request.token, request.number);
  if (!node) return { gone: true };
  if (node.localName === "option") {
    const list = node.closest("select");
    if (node.disabled) return { disabled: true };
    node.selected = true;
    page.open = null;
    setTimeout(() => changed(list)); // the page may open a dialog then, which ends a script without an answer
    return { done: true };
  }
  if (moving(node)) return { moving: true };
  if (!boxOf(node)) return { gone: true };
  const offset = offsetOf(node);
  const middle = boxOf(node);
  const spot = { x: middle.left + middle.width / 2, y: middle.top + middle.height / 2 };
  const [left, top] = [spot.x + offset.x, spot.y + offset.y];
  const outside = left < 0 || top < 0 || left >= innerWidth || top >= innerHeight;
  if (outside || inTheWay(node, spot.x, spot.y)) {
    node.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
  }
  const box = boxOf(node);
  const where = offsetOf(node);
  const view = viewOf(node);
  const seen = intersect(box, { left: 0, top: 0, right: view.innerWidth, bottom: view.innerHeight });
  let cover = null;
  for (const [across, along] of [[0.5, 0.5], [0.25, 0.5], [0.75, 0.5], [0.5, 0.25], [0.5, 0.75]]) {
    const x = seen.left + (seen.right - seen.left) * across;
    const y = seen.top + (seen.bottom - seen.top) * along;
    cover = inTheWay(node, x, y);
    if (cover) continue;
    if (node.localName === "select" && !node.disabled && !node.multiple && request.picks) {
      node.focus();
      page.open = page.open === node ? null : node;
      return { done: true };
    }
    page.open = null;
    return { x: x + where.x, y: y + where.y };
  }
  return cover === true ? { outside: true } : { covered: describe(cover) };
}

// The field that has the focus, its caret at the end, ready for keys; with `all` everything in it selected.
function field() {
  const wanted = request.number ? nodeOf(request.token, request.number) : null;
  if (request.number && !wanted) return { gone: true };
  if (wanted && !holds(wanted, deepestFocus())) wanted.focus();
  const node = deepestFocus();
  const typed = node?.localName === "textarea" || node?.isContentEditable || (node?.localName === "input" && !NOT_TYPED.has(node.type));
  if (!typed || (wanted && !holds(wanted, node))) return { refused: node ? describe(node) : ["nothing", ""] };
  if (node.disabled || node.readOnly) return { refused: describe(node), locked: true };
  if (PICKED_BY_VALUE.has(node.type)) return { put: numberOf(node), token: page.token };
  if (node.isContentEditable) {
    const selection = viewOf(node).getSelection();
    selection.selectAllChildren(node);
    if (!request.all) selection.collapseToEnd();
    return { ready: true, empty: node.textContent === "", number: numberOf(node), token: page.token };
  }
  if (request.all) node.select();
  else if (node.selectionStart !== null) node.setSelectionRange(node.value.length, node.value.length);
  const empty = node.value === "" && !node.validity?.badInput; // an invalid number has an empty value, but is in the field
  return { ready: true, empty, end: node.selectionStart === null, number: numberOf(node), token: page.token };
}

// What a field holds, unless it is a password.
function held() {
  const node = nodeOf(request.token, request.number);
  if (!node || node.type === "password") return {};
  const text = node.isContentEditable ? node.textContent : node.value;
  return { text: String(text ?? "").slice(0, LIMITS.held), focused: holds(node, deepestFocus()) };
}

// Sets the value of a field that is picked rather than typed: dates, colours, sliders.
function put() {
  const node = nodeOf(request.token, request.number);
  if (!node) return { gone: true };
  Object.getOwnPropertyDescriptor(viewOf(node).HTMLInputElement.prototype, "value").set.call(node, request.text);
  changed(node);
  return { held: node.value };
}

// The HTML of a copy of the document in which no script runs, without the values of passwords.
function source() {
  const copy = document.implementation.createHTMLDocument("").importNode(document.documentElement, true);
  for (const field of copy.querySelectorAll('input[type="password" i][value]')) field.setAttribute("value", "");
  return { html: copy.outerHTML };
}

function blur() {
  page.open = null;
  deepestFocus()?.blur?.();
  return {};
}

const answers = { snapshot, source, aim, field, held, put, blur };
const answer = answers[request.what]();
const node = request.what === "aim" ? nodeOf(request.token, request.number) : null;
return request.what === "aim" && request.refer && node ? [JSON.stringify(answer), node] : [JSON.stringify(answer)];
