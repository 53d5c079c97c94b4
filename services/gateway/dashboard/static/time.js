// Shows <time datetime="..."> in local time, with UTC in its title.
// data-format: "relative" (3 minutes ago), "elapsed" (2:05 since then, until data-until), "date", or a date with its time.
// data-label: what stands before the time, in the text and in the title.

const SECOND = 1000;
const MINUTE = 60;
const UNITS = [["day", 86400], ["hour", 3600], ["minute", MINUTE], ["second", 1]];
const RELATIVE_DAYS = 14;

const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const dateOnly = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

/** "2026-11-23 15:04:05 UTC" */
function formatUtc(date) {
  return `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** "now" in the first minute, "3 minutes ago", "in 2 hours"; the date if that is more than two weeks away. */
function formatRelative(date, now) {
  const seconds = Math.round((date - now) / SECOND);
  if (-MINUTE < seconds && seconds <= 0) return relative.format(0, "second");
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ["second", 1];
  if (unit === "day" && Math.abs(seconds) > RELATIVE_DAYS * size) return dateOnly.format(date);
  return relative.format(Math.trunc(seconds / size), unit);
}

/** "0:05", "12:30", "1:02:30" */
function formatElapsed(start, end) {
  const seconds = Math.max(0, Math.floor((end - start) / SECOND));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const parts = hours ? [hours, String(minutes).padStart(2, "0")] : [minutes];
  return [...parts, String(seconds % 60).padStart(2, "0")].join(":");
}

function formatTime(element, date, now) {
  const { format, until } = element.dataset;
  if (format === "relative") return formatRelative(date, now);
  if (format === "elapsed") return formatElapsed(date, until ? new Date(until) : now);
  return (format === "date" ? dateOnly : absolute).format(date);
}

/** Write the text and the title of one <time>; one whose datetime is not a time stays as the server wrote it. */
function showTime(element, now = new Date()) {
  const date = new Date(element.dateTime);
  if (Number.isNaN(date.getTime())) return;
  const label = element.dataset.label ? `${element.dataset.label}, ` : "";
  const text = label + formatTime(element, date, now);
  const hasLocal = element.dataset.format || label;
  const title = `${label}${hasLocal ? `${absolute.format(date)}, ` : ""}${formatUtc(date)}`;
  // Only what differs, because each change is observed again.
  if (element.textContent !== text) element.textContent = text;
  if (element.title !== title) element.title = title;
}

function timesAround(node) {
  const element = node instanceof Element ? node : node.parentElement;
  return [element?.closest("time[datetime]")].filter(Boolean);
}

function timesWithin(node) {
  return node instanceof Element ? [...node.querySelectorAll("time[datetime]")] : [];
}

function changedTimes(mutations) {
  const added = mutations.flatMap((mutation) => [...mutation.addedNodes]);
  const changed = [...mutations.map((mutation) => mutation.target), ...added];
  return new Set([...changed.flatMap(timesAround), ...added.flatMap(timesWithin)]);
}

/** Show all times of the page, those that come later, and keep the relative ones current. */
export function startTimes() {
  document.querySelectorAll("time[datetime]").forEach((element) => showTime(element));
  new MutationObserver((mutations) => changedTimes(mutations).forEach((element) => showTime(element))).observe(
    document.body,
    { subtree: true, childList: true, characterData: true, attributeFilter: ["datetime", "data-format", "data-until"] },
  );
  setInterval(() => {
    document.querySelectorAll("time:is([data-format=relative], [data-format=elapsed])").forEach((e) => showTime(e));
  }, SECOND);
}
