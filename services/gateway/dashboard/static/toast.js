// Short messages in the corner. The server sends one with the header HX-Trigger: {"toast": {"message": ..., "kind": ...}}.

const VISIBLE_MILLISECONDS = 6000;
const KEPT = "toast";
const UNREACHABLE = "The server cannot be reached. Check the connection and try again.";

function createRegions() {
  const regions = document.createElement("div");
  regions.className = "toasts";
  for (const role of ["status", "alert"]) {
    const region = document.createElement("div");
    region.role = role;
    regions.append(region);
  }
  return regions;
}

/** The live regions, inside the open modal dialog because everything outside of it is inert. */
function placeRegions() {
  const regions = document.querySelector(".toasts") ?? createRegions();
  const home = [...document.querySelectorAll("dialog:modal")].at(-1) ?? document.body;
  if (regions.parentElement !== home) home.append(regions);
  return regions;
}

function closeButton(toast) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "×";
  button.ariaLabel = "Close";
  button.addEventListener("click", () => toast.remove());
  return button;
}

/** Remove a toast after its time; the time starts again when the pointer or the focus leaves it. */
function expire(toast) {
  let timer;
  const stop = () => clearTimeout(timer);
  const start = () => {
    stop();
    timer = setTimeout(() => toast.remove(), VISIBLE_MILLISECONDS);
  };
  for (const event of ["pointerenter", "focusin"]) toast.addEventListener(event, stop);
  for (const event of ["pointerleave", "focusout"]) toast.addEventListener(event, start);
  start();
}

/** Show a message; a failure ("failed") stays until it is closed. The same message is not shown twice. */
export function showToast(message, kind = "info") {
  const region = placeRegions().querySelector(`[role=${kind === "failed" ? "alert" : "status"}]`);
  [...region.children].find((toast) => toast.firstChild.textContent === message)?.remove();
  const toast = document.createElement("div");
  toast.classList.add("toast", kind);
  const text = document.createElement("span");
  text.textContent = message;
  toast.append(text, closeButton(toast));
  region.append(toast);
  if (kind !== "failed") expire(toast);
}

/** Show a message on the page that is loaded next. */
export function keepToast(message, kind) {
  sessionStorage.setItem(KEPT, JSON.stringify([message, kind]));
}

function showKept() {
  const kept = sessionStorage.getItem(KEPT);
  sessionStorage.removeItem(KEPT);
  if (kept) showToast(...JSON.parse(kept));
}

/** Show what the server sends, and requests of htmx that got no answer. */
export function startToasts() {
  placeRegions();
  showKept();
  document.addEventListener("close", placeRegions, true);
  document.addEventListener("toast", ({ detail }) => showToast(detail.message, detail.kind));
  document.addEventListener("htmx:error", ({ detail }) => {
    if (detail.ctx && !detail.ctx.response) showToast(UNREACHABLE, "failed");
  });
}
