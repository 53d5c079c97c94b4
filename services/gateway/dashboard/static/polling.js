// Parts of a page that are kept current by asking again: <div id="queue" data-polls="5">, every 5 seconds while the tab is visible.

const SECOND = 1000;

/** Keep such parts current. What has the focus or has been scrolled stays; [data-stale] says that the server does not answer. */
export function startPolling() {
  for (const part of document.querySelectorAll("[data-polls]")) follow(part.id, part.dataset.polls * SECOND);
}

function follow(id, pause) {
  let updating = false;
  const update = async () => {
    if (updating || document.visibilityState !== "visible") return;
    updating = true;
    const current = await replace(id);
    for (const note of document.querySelectorAll("[data-stale]")) note.hidden = current;
    updating = false;
  };
  setInterval(update, pause);
  document.addEventListener("visibilitychange", update);
}

/** Morph the part into what the server renders now; false if the server does not answer. */
async function replace(id) {
  try {
    const response = await fetch(location.href);
    if (response.redirected) location.reload(); // to sign in
    if (response.redirected || !response.ok) return response.ok;
    const text = await response.text();
    await window.htmx.swap({ sourceElement: document.body, text, target: `#${id}`, select: `#${id}`, swap: "outerMorph" });
    return true;
  } catch {
    return false;
  }
}
