// Saves the steps of tests, and never over what somebody else has saved meanwhile.
import { call, exchange } from "./api.js";
import { keepToast } from "./toast.js";

/** Others have saved other steps since they were read; `current` is the test as it is now, with its ETag. */
export class Conflict extends Error {
  constructor(current) {
    super("Somebody else has saved other steps meanwhile: load the page again");
    this.current = current;
  }
}

/**
 * The test with its new steps, which `change` has as "flow" or as "steps", and its ETag; `read` has the ETag and the version
 * that were read. Refusal, Conflict.
 */
export async function saveSteps(testId, change, read) {
  const path = `/api/v1/tests/${testId}`;
  const save = (etag) => exchange("PATCH", path, change, { headers: { "If-Match": etag } });
  try {
    return await save(read.etag);
  } catch (error) {
    if (error.status !== 412) throw error;
  }
  const current = await exchange("GET", path);
  if (current.answer.version_number !== read.version) throw new Conflict(current);
  return await save(current.etag); // something else was changed, such as the quarantine
}

/** The new test, attached to the app unless that is "". The next page says what became of it. Refusal. */
export async function createTest({ name, flow, app }) {
  const test = await call("POST", "/api/v1/tests", { name, flow });
  try {
    if (app) await call("PUT", `/api/v1/apps/${app}/tests/${test.id}`, {});
    keepToast("The test is created");
  } catch (error) {
    keepToast(`The test is created, but not attached to the app: ${error.message}`, "failed");
  }
  return test;
}
