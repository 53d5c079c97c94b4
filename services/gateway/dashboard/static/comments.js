// Comments on a run: <div id="comments" data-comments="/api/v1/.../comments?page=1" data-tag="its ETag">. What others write
// appears when somebody comes back to the page: an ended run has nothing else to ask for. What is typed is outside of
// that part.
import { exchange } from "./api.js";
import { clear } from "./forms.js";
import { morph } from "./refresh.js";
import { isSessionEnded } from "./session.js";

let isLooking = false;

function startComments() {
  document.addEventListener("click", ({ target }) => {
    const button = target.closest?.("button[data-edits-comment]");
    if (button) edit(button);
  });
  document.addEventListener("visibilitychange", look);
  window.addEventListener("focus", look);
}

/** Fill the dialog, which the button opens. */
function edit(button) {
  const form = document.querySelector("#edit-comment form");
  clear(form);
  form.dataset.json = button.dataset.editsComment;
  form.elements.text.value = button.closest("li").querySelector("[data-text]").textContent;
}

/** The list is read alone, and the page only if it has changed. */
async function look() {
  const part = document.getElementById("comments");
  if (!part || isLooking || document.visibilityState !== "visible" || isSessionEnded()) return;
  isLooking = true;
  try {
    const { etag } = await exchange("GET", part.dataset.comments);
    if (etag?.replace("-gzip", "") !== part.dataset.tag) await morph(["comments", "comment-count"]);
  } catch {
    // The next look may have an answer; what is shown stays.
  }
  isLooking = false;
}

startComments();
