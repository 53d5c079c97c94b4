// Parts of a page that are kept current by asking again: <div id="queue" data-polls="5">, every 5 seconds while the tab is visible.
import { morph, showStale } from "./refresh.js";

const SECOND = 1000;

/** Keep such parts current. What has the focus or has been scrolled stays; [data-stale] says that the server does not answer. */
function startPolling() {
  for (const part of document.querySelectorAll("[data-polls]")) follow(part.id, part.dataset.polls * SECOND);
}

function follow(id, pause) {
  let updating = false;
  const update = async () => {
    if (updating || document.visibilityState !== "visible") return;
    updating = true;
    showStale(!(await morph([id])));
    updating = false;
  };
  setInterval(update, pause);
  document.addEventListener("visibilitychange", update);
}

startPolling();
