// The lines of an attempt's log that were written while a step was under way.
import { hint } from "./text_elements.js";

const READ_BYTES = 1024 * 1024;
const SHOWN_LINES = 500;
const TIMED = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)(?= )/;

let read = { url: "", lines: null };

/** Show the lines in <details>, at once if it is open, and otherwise when it is opened. */
export function showLog(details, url, step) {
  details.hidden = !url;
  details.ontoggle = () => details.open && url && fill(details.querySelector("div"), url, step);
  details.ontoggle();
}

async function fill(part, url, { dataset: { from, until } }) {
  part.dataset.shown = from;
  try {
    const lines = await readLines(url);
    if (part.dataset.shown === from) part.replaceChildren(...describe(lines, Date.parse(from), Date.parse(until)));
  } catch (error) {
    part.textContent = `The log could not be loaded (${error.message}). Close and open this to try again.`;
  }
}

/** The lines with their times in milliseconds; those without a time belong to the line before. */
async function readLines(url) {
  if (read.url === url) return read.lines;
  const response = await fetch(url, { headers: { Range: `bytes=0-${READ_BYTES - 1}` } });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  let time = NaN;
  const lines = (await response.text()).split("\n").filter(Boolean).map((text) => {
    const moment = TIMED.exec(text);
    if (moment) time = Date.parse(moment[0]);
    return { time, text };
  });
  read = { url, lines };
  return lines;
}

function describe(lines, from, until) {
  if (!lines.some(({ time }) => !Number.isNaN(time))) {
    return [hint("The lines of this log have no time of day. All of it is at the end of the attempt.")];
  }
  const inside = lines.filter(({ time }) => time >= from && !(time >= until));
  if (!inside.length) return [hint("No line was written, by the clock of the device.")];
  const text = document.createElement("pre");
  text.tabIndex = 0;
  text.setAttribute("aria-label", "Log at this step");
  text.textContent = inside.slice(0, SHOWN_LINES).map((line) => line.text).join("\n");
  const more = inside.length - SHOWN_LINES;
  return [text, hint(`By the clock of the device.${more > 0 ? ` ${more} more lines are in the whole log.` : ""}`)];
}
