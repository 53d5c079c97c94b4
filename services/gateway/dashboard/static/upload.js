// Uploads of builds: <form data-upload="/api/v1/apps/7/builds" data-refreshes="builds"> with the fields file and version.
import { parseRefusal, Refusal, withToken } from "./api.js";
import { link, offerRuns } from "./build_runs.js";
import { allow, clear, finish, show } from "./forms.js";
import { refresh } from "./refresh.js";
import { csrfToken } from "./session.js";
import { formatSize } from "./sizes.js";

const CANCELLED = new Error("Cancelled: nothing was stored.");
const UNREACHABLE = 0;

/** Send all such forms, also with files that are dropped on them; the browser asks before it leaves an upload. */
function startUploads() {
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-upload]")) return;
    event.preventDefault();
    upload(event.target);
  });
  document.addEventListener("change", ({ target }) => {
    if (target.matches("form[data-upload] input[type=file]")) announceFile(target);
  });
  addEventListener("beforeunload", (event) => {
    if ([...document.querySelectorAll("form[data-upload]")].some(isBusy)) event.preventDefault();
  });
  for (const kind of ["dragover", "dragleave", "drop"]) document.addEventListener(kind, drag);
  allow("form[data-upload]");
}

/** A file that misses the field must not replace the page. */
function drag(event) {
  if (!document.querySelector("form[data-upload]") || !event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  const place = event.target.closest?.("form[data-upload] .drop");
  document.querySelectorAll(".drop.over").forEach((other) => other.classList.remove("over"));
  if (!place || event.type === "dragleave") return;
  if (event.type === "dragover") return place.classList.add("over");
  const field = place.querySelector("input[type=file]");
  field.files = event.dataTransfer.files;
  announceFile(field);
}

function announceFile(field) {
  const [file] = field.files;
  clear(field.form);
  say(field.form, file ? `${file.name}, ${formatSize(file.size)}` : "");
  offerRuns(field.form, null);
}

async function upload(form) {
  if (isBusy(form)) return;
  const [file] = form.elements.file.files;
  clear(form);
  if (!file) return show(form, new Refusal(422, "Choose a file.", {}));
  setBusy(form, true);
  say(form, `Uploading ${file.name}`);
  try {
    const build = await withToken(() => send(form, file));
    const reused = build.was_reused ? " The same file had been uploaded before." : "";
    say(form, `${file.name} is uploaded as build `, link(`/apps/${build.app_id}/builds/${build.id}`, build.version), `.${reused}`);
    form.reset();
    await finish(form, build);
    await offerRuns(form, build);
  } catch (error) {
    await explain(form, error);
  } finally {
    setBusy(form, false);
  }
}

async function explain(form, error) {
  say(form, error === CANCELLED ? error.message : "");
  if (error === CANCELLED) return;
  const exists = error.status === 409;
  show(form, exists ? Object.assign(error, { fields: { version: error.message } }) : error);
  if (exists) await refresh(form.dataset.refreshes.split(" ")); // which shows the build of this version
}

function isBusy(form) {
  return form.querySelector('button[type="submit"]').getAttribute("aria-busy") === "true";
}

function setBusy(form, busy) {
  form.querySelector('button[type="submit"]').setAttribute("aria-busy", String(busy));
  form.querySelector("progress").value = 0;
  form.querySelector("[data-upload-amount]").textContent = "";
  for (const part of form.querySelectorAll("[data-upload-progress], [data-upload-cancel]")) part.hidden = !busy;
}

/** The build. Refusal. */
function send(form, file) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    let sent = 0;
    request.upload.addEventListener("progress", (event) => {
      sent = event.loaded;
      showProgress(form, event);
    });
    request.addEventListener("load", () => {
      const answer = parse(request);
      if (request.status < 300) resolve(answer);
      else reject(parseRefusal(request.status, answer, form.dataset.upload));
    });
    request.addEventListener("error", () => reject(new Refusal(UNREACHABLE, broken(sent, file), {})));
    request.addEventListener("abort", () => reject(CANCELLED));
    form.querySelector("[data-upload-cancel]").onclick = () => request.abort();
    request.open("POST", form.dataset.upload);
    request.setRequestHeader("X-CSRF-Token", csrfToken());
    request.send(body(form, file));
  });
}

/** The version first, so that the server refuses one that exists before it reads the file. */
function body(form, file) {
  const parts = new FormData();
  const version = form.elements.version.value.trim();
  if (version) parts.append("version", version);
  parts.append("file", file);
  return parts;
}

function showProgress(form, { loaded, total }) {
  const percent = Math.floor((loaded / total) * 100);
  const bar = form.querySelector("progress");
  bar.value = percent;
  const amount = `${percent} % of ${formatSize(total)}`;
  form.querySelector("[data-upload-amount]").textContent = loaded < total ? amount : `${amount}: the server reads the file`;
}

function broken(sent, file) {
  return `The upload broke off after ${formatSize(sent)} of ${formatSize(file.size)}, and nothing was stored. Check the connection, and try again.`;
}

function parse(request) {
  try {
    return JSON.parse(request.responseText);
  } catch {
    return null;
  }
}

function say(form, ...parts) {
  form.querySelector("[data-upload-status]").replaceChildren(...parts);
}

startUploads();
