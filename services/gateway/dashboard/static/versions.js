// Makes a new version of a test: <button data-restore="3" data-test="..." data-etag="..." data-newest="5"> has the steps of version 3,
// and with data-steps="[...]" in place of data-restore it has these.
import { call } from "./api.js";
import { runOnce } from "./forms.js";
import { Conflict, saveSteps } from "./saved_steps.js";
import { keepToast, showToast } from "./toast.js";

/** Listen to the buttons, also those that come later. */
function startVersions() {
  document.addEventListener("click", ({ target }) => {
    const button = target.closest?.("button[data-restore], button[data-steps]");
    if (button) runOnce(button, () => save(button), (error) => showToast(error.message, "failed"));
  });
}

async function save(button) {
  const { restore: number, steps: proposed, test, etag, newest } = button.dataset;
  const steps = proposed ? JSON.parse(proposed) : await readSteps(button.dataset);
  const { answer } = await saveSteps(test, { steps }, { etag, version: Number(newest) });
  const done = proposed ? "The proposed step is accepted" : `Version ${number} is restored`;
  keepToast(`${done}; the steps are those of version ${answer.version_number} now`);
  location.assign(`/tests/${test}/versions`);
  return false;
}

/** The steps of a version; the newest comes first, so its number says where it is. */
async function readSteps({ restore: number, test, newest }) {
  const query = new URLSearchParams({ include_steps: "true", page_size: "1", page: String(newest - number + 1) });
  const page = await call("GET", `/api/v1/tests/${test}/versions?${query}`);
  const version = page.items.find((item) => item.version_number === Number(number));
  if (!version) throw new Conflict(null);
  return version.steps;
}

startVersions();
