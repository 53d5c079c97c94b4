// <input type="datetime-local" data-moment="2026-12-05T00:00:00Z">: shown in local time, sent as a moment in UTC.

const MINUTE_MILLISECONDS = 60_000;
const FIELDS = 'input[type="datetime-local"]';

/** Fill the fields of the page, and convert what forms send of them. */
function startLocalMoments() {
  document.querySelectorAll(`${FIELDS}[data-moment]`).forEach((field) => {
    const moment = new Date(field.dataset.moment);
    const local = new Date(moment - moment.getTimezoneOffset() * MINUTE_MILLISECONDS);
    field.value = local.toISOString().slice(0, 16);
  });
  document.addEventListener("formdata", ({ target, formData }) => {
    for (const field of target.querySelectorAll(FIELDS)) {
      if (field.value) formData.set(field.name, new Date(field.value).toISOString());
    }
  });
}

startLocalMoments();
