// Parts of a page that follow an event stream: <div id="execution" data-live="/api/v1/executions/7/events">.

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
      await replace(part.id);
      if (!document.getElementById(part.id).dataset.live) events.close();
    }, PAUSE_MILLISECONDS);
  };
  for (const kind of ["run", "execution"]) events.addEventListener(kind, refresh);
}

/** Put the part of the page as the server renders it now in the place of the present one. */
async function replace(id) {
  const opened = [...document.querySelectorAll(`#${id} details[open][id]`)].map((details) => details.id);
  await window.htmx.ajax("GET", location.href, { target: `#${id}`, select: `#${id}`, swap: "outerMorph" });
  for (const each of opened) document.getElementById(each)?.setAttribute("open", "");
  document.dispatchEvent(new CustomEvent("live:change"));
}
