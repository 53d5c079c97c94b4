// Text files that are loaded when somebody opens them: <details data-text="/api/v1/.../log.txt"> with a <pre>.

const SHOWN_BYTES = 262144;

/** Listen to all of them; the event does not bubble. */
function startFiles() {
  document.addEventListener("toggle", ({ target }) => {
    if (target.matches?.("details[data-text]") && target.open) load(target);
  }, true);
}

async function load(details) {
  const text = details.querySelector("pre");
  if (text.getAttribute("aria-busy") !== "true") return;
  try {
    const response = await fetch(details.dataset.text, { headers: { Range: `bytes=0-${SHOWN_BYTES - 1}` } });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    const total = Number(response.headers.get("Content-Range")?.split("/")[1] ?? 0);
    text.textContent = await response.text();
    if (total > SHOWN_BYTES) text.append(`\n(the first ${SHOWN_BYTES} of ${total} bytes: download the file for the rest)`);
    text.setAttribute("aria-busy", "false");
  } catch (error) {
    text.textContent = `This file could not be loaded (${error.message}). Close and open it to try again.`;
  }
}

startFiles();
