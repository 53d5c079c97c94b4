// How many questions wait for a person's answer, in the bar at the top of every page: a link to the run that asked first.
import { call } from "./api.js";
import { isSessionEnded } from "./session.js";

const LOOK_MILLISECONDS = 10_000;
const PAUSE_MILLISECONDS = 2000; // when parts of the page change often
const PATH = "/api/v1/questions?page_size=1";
const ANNOUNCED = "questions"; // how many there were when this tab looked last

let lookedAt = 0;
let isLooking = false;

/** Look now, after changes of the page, and from time to time while its tab is visible. */
export function startQuestions() {
  const link = document.querySelector("[data-questions]");
  if (!link) return;
  const look = () => update(link);
  look();
  setInterval(look, LOOK_MILLISECONDS);
  document.addEventListener("visibilitychange", look);
  document.addEventListener("parts:change", look);
}

/** One request at a time, and none whose refusal would be announced again. */
async function update(link) {
  if (isLooking || document.visibilityState !== "visible" || isSessionEnded()) return;
  if (Date.now() - lookedAt < PAUSE_MILLISECONDS) return;
  isLooking = true;
  lookedAt = Date.now();
  try {
    show(link, await call("GET", PATH));
  } catch {
    // The next look may have an answer; what is shown stays.
  }
  isLooking = false;
}

function show(link, { total, items }) {
  const text = `${total} ${total === 1 ? "question" : "questions"} waiting`;
  if (items.length) link.href = `/executions/${items[0].execution_id}/runs/${items[0].run_id}`;
  link.hidden = !items.length;
  link.textContent = text;
  announce(total, text);
}

/** Screen readers hear of new questions only: not on every page, nor of those that are answered. */
function announce(total, text) {
  const region = document.querySelector("[data-questions-announced]");
  const announced = Number(sessionStorage.getItem(ANNOUNCED));
  if (total > announced) region.textContent = text;
  else if (total < announced) region.textContent = "";
  sessionStorage.setItem(ANNOUNCED, total);
}
