// Parts of a page that follow an event stream: <div id="execution" data-live="/api/v1/executions/7/events">.
import { morph } from "./refresh.js";
import { showStale } from "./stale_note.js";

const PAUSE_MILLISECONDS = 400;
const RETRY_MILLISECONDS = 5000;

/** Keep the live parts of the page current, without moving the focus or what has been scrolled, opened or chosen. */
export function startLive() {
  for (const part of document.querySelectorAll("[data-live]")) follow(part.id, part.dataset.live);
}

/** Hidden tabs have no stream: browsers open six connections to a server, and each stream takes one. */
function follow(id, url) {
  let events = null;
  let waiting = null;
  const connect = () => {
    events = new EventSource(url);
    for (const kind of ["run", "execution"]) events.addEventListener(kind, () => schedule(PAUSE_MILLISECONDS));
    events.addEventListener("error", () => schedule(PAUSE_MILLISECONDS));
  };
  const stop = () => {
    events?.close();
    clearTimeout(waiting);
    events = waiting = null;
  };
  const schedule = (pause) => {
    waiting ??= setTimeout(update, pause);
  };
  const update = async () => {
    waiting = null;
    const isCurrent = await morph([id]);
    if (!events) return; // stopped meanwhile
    showStale(!isCurrent);
    if (isCurrent && !document.getElementById(id)?.dataset.live) return end();
    if (!isCurrent) schedule(RETRY_MILLISECONDS);
    else if (events.readyState === EventSource.CLOSED) connect(); // its last request was refused
  };
  const show = () => {
    stop();
    if (document.visibilityState === "hidden") return;
    connect();
    schedule(0);
  };
  const end = () => {
    stop();
    document.removeEventListener("visibilitychange", show);
  };
  connect();
  document.addEventListener("visibilitychange", show);
}
