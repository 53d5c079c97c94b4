// Parts of a page that follow an event stream: <div id="execution" data-live="/api/v1/executions/7/events">.
import { morph } from "./refresh.js";

const PAUSE_MILLISECONDS = 400;

/** Keep the live parts of the page current, without moving the focus or what has been scrolled, opened or chosen. */
export function startLive() {
  for (const part of document.querySelectorAll("[data-live]")) follow(part);
}

function follow(part) {
  const events = new EventSource(part.dataset.live);
  let waiting = null;
  const refresh = () => {
    waiting ??= setTimeout(async () => {
      waiting = null;
      await morph([part.id]);
      if (!document.getElementById(part.id)?.dataset.live) events.close();
    }, PAUSE_MILLISECONDS);
  };
  for (const kind of ["run", "execution"]) events.addEventListener(kind, refresh);
}
