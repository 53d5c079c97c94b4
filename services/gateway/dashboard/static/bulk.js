// Actions for the tests or runs of a page that are selected. What changes tests is a call for each, which is safe to repeat; those
// that failed are named, and stay selected.
import { call, exchange } from "./api.js";
import { followApp } from "./build_choices.js";
import { startSelected, wrong } from "./bulk_start.js";
import { allow, go, refuseUnreadable, runOnce, submitOnce } from "./forms.js";
import { refresh } from "./refresh.js";
import { select, selected, selectionPart, startSelection } from "./selection.js";
import { showToast } from "./toast.js";

const AT_ONCE = 4;
const TRIES = 3; // to change the tags of a test that others change at the same time

/** Listen to the buttons and the forms. */
function startBulk() {
  startSelection();
  document.addEventListener("click", ({ target }) => {
    const button = target.closest?.("button");
    if (button?.matches("[data-bulk-clear]")) select([]);
    if (button?.matches("[data-bulk-unquarantine]")) endQuarantines(button);
    if (button?.matches("[data-bulk-rerun]")) rerun(button);
  });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("form[data-bulk]")) return;
    event.preventDefault();
    submitOnce(form, () => ACTIONS[form.dataset.bulk](form));
  });
  const run = document.querySelector('form[data-bulk="run"]');
  if (run) followApp(run.elements.app, run.elements.version, () => {});
  allow("form[data-bulk]");
}

const ACTIONS = {
  quarantine: (form) => quarantine(form),
  tag: (form) => changeTags(form),
  run: (form) => startSelected(form),
};

async function quarantine(form) {
  refuseUnreadable(form);
  const { reason, until } = Object.fromEntries(new FormData(form));
  if (!reason.trim()) throw wrong("reason", "Say why.");
  const body = { reason, ...(until && { until }) };
  await changeAll(form, ({ test }) => call("PUT", `/api/v1/tests/${test}/quarantine`, body), "in quarantine");
}

function endQuarantines(button) {
  if (!confirm("End the quarantines? Failures of these tests block the gate again.")) return;
  const end = ({ test }) => call("DELETE", `/api/v1/tests/${test}/quarantine`);
  runOnce(button, () => changeAll(null, end, "out of quarantine"), (error) => showToast(error.message, "failed"));
}

async function changeTags(form) {
  const tag = form.elements.tags.value.trim();
  if (!tag) throw wrong("tags", "Enter a tag.");
  const isAdded = form.elements.change.value === "add";
  const change = (tags) => (isAdded ? [...new Set([...tags, tag])] : tags.filter((each) => each !== tag));
  await changeAll(form, ({ id }) => saveTags(`/api/v1/tests/${id}`, change), isAdded ? "tagged" : "without the tag");
}

/** Change the tags as they are now: what others change at the same time is kept. */
async function saveTags(path, change) {
  for (let left = TRIES; ; left -= 1) {
    const { answer, etag } = await exchange("GET", path);
    try {
      return await call("PATCH", path, { tags: change(answer.tags) }, { "If-Match": etag });
    } catch (error) {
      if (error.status !== 412 || left <= 1) throw error;
    }
  }
}

/** The runs that are selected, again. */
function rerun(button) {
  const again = async () => {
    const body = { run_ids: selected().map(({ id }) => id) };
    go("/executions/{id}", await call("POST", button.dataset.bulkRerun, body));
    return false;
  };
  runOnce(button, again, (error) => showToast(error.message, "failed"));
}

/** Do it with all tests that are selected, AT_ONCE at a time; afterwards those are selected with which it did not work. */
async function changeAll(form, change, state) {
  const waiting = [...new Map(selected().map((each) => [each.test, each])).values()];
  const total = waiting.length;
  const problems = [];
  const work = async () => {
    for (let test = waiting.shift(); test; test = waiting.shift()) {
      try {
        await change(test);
      } catch (error) {
        problems.push({ ...test, message: error.message, error });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const unfit = problems.find(({ error }) => error.status === 422);
  if (form && unfit && problems.length === total) throw unfit.error; // what was typed is wrong
  form?.closest("dialog").close();
  form?.reset();
  await refresh([selectionPart()]);
  select(problems.map(({ id }) => id));
  showProblems(problems);
  const done = total - problems.length;
  if (done) showToast(`${done === 1 ? "1 test is" : `${done} tests are`} ${state}`, "passed");
}

function showProblems(problems) {
  const note = document.querySelector("[data-bulk-problems]");
  note.hidden = !problems.length;
  note.querySelector("ul").replaceChildren(...problems.map(({ name, message }) => {
    const item = document.createElement("li");
    const text = document.createElement("bdi");
    text.textContent = name;
    item.append(text, `: ${message}`);
    return item;
  }));
}

startBulk();
