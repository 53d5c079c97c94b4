// Short messages in the corner.

const VISIBLE_MILLISECONDS = 6000;
const KEPT = "toast";

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
  button.addEventListener("click", () => close(toast));
  return button;
}

/** Remove a toast; the focus goes to the next one, or back to the content. */
function close(toast) {
  const next = toast.nextElementSibling ?? toast.previousElementSibling;
  toast.remove();
  const place = next?.querySelector("button") ?? document.querySelector("dialog:modal") ?? document.getElementById("content");
  place?.focus({ preventScroll: true });
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

/**
 * Show a message, and after it a link ({href, text}) to another tab. A failure ("failed") stays until it is closed.
 * The same message is not shown twice.
 */
export function showToast(message, kind = "info", link = null) {
  const region = placeRegions().querySelector(`[role=${kind === "failed" ? "alert" : "status"}]`);
  const shown = findToast(region, message);
  if (shown && kind === "failed") return region.append(shown);
  shown?.remove();
  const toast = document.createElement("div");
  toast.classList.add("toast", kind);
  const text = document.createElement("span");
  text.textContent = message;
  toast.append(text, ...(link ? [linkElement(link)] : []), closeButton(toast));
  region.append(toast);
  if (kind !== "failed") expire(toast);
}

/** Remove a message that no longer applies. */
export function removeToast(message) {
  findToast(document, message)?.remove();
}

function findToast(place, message) {
  return [...place.querySelectorAll(".toast")].find((toast) => toast.firstChild.textContent === message);
}

function linkElement({ href, text }) {
  const link = document.createElement("a");
  Object.assign(link, { href, textContent: text, target: "_blank", rel: "noopener" });
  return link;
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

/** Show what the page before has kept, and move messages out of dialogs that close. */
export function startToasts() {
  placeRegions();
  showKept();
  document.addEventListener("close", placeRegions, true);
}
