// Checks steps as an import would, without keeping anything.
import { call, exchange } from "./api.js";

const WORKSPACE = "editor of the dashboard";
const NOTHING = "this is no list of steps: begin each of them with a dash";

/**
 * What is wrong ("problems"), what fails without a model if there is none ("warnings"), and what may be wrong
 * ("notices"), each with line, column and message. Refusal, AbortError.
 */
export async function checkSteps(text, signal) {
  const form = new FormData();
  form.append("files", new File([text], "steps.yaml"));
  const query = new URLSearchParams({ dry_run: "true", workspace: WORKSPACE });
  const { answer } = await exchange("POST", `/api/v1/tests/import?${query}`, form, { signal });
  const isRead = answer.created.length + answer.changed.length + answer.unchanged.length > 0;
  const problems = answer.refused.flatMap((flow) => flow.problems);
  if (!isRead && problems.length === 0) problems.push({ line: 1, column: 1, message: NOTHING });
  const warnings = answer.unparsed.length && (await isWithoutModel()) ? answer.unparsed : [];
  return { problems, warnings, notices: answer.notices };
}

/** Whether no worker has a model. While that is not known, a warning might be wrong. */
async function isWithoutModel() {
  try {
    return (await call("GET", "/api/v1/settings/limits")).models_available === false;
  } catch {
    return false;
  }
}
