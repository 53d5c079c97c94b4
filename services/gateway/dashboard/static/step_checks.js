// Checks steps as an import would, without keeping anything.
import { exchange } from "./api.js";

const WORKSPACE = "editor of the dashboard";
const NOTHING = "this is no list of steps: begin each of them with a dash";

/** What is wrong ("problems") and what may be ("notices"), each with line, column and message. Refusal, AbortError. */
export async function checkSteps(text, signal) {
  const form = new FormData();
  form.append("files", new File([text], "steps.yaml"));
  const query = new URLSearchParams({ dry_run: "true", workspace: WORKSPACE });
  const { answer } = await exchange("POST", `/api/v1/tests/import?${query}`, form, { signal });
  const isRead = answer.created.length + answer.changed.length + answer.unchanged.length > 0;
  const problems = answer.refused.flatMap((flow) => flow.problems);
  if (!isRead && problems.length === 0) problems.push({ line: 1, column: 1, message: NOTHING });
  return { problems, notices: answer.notices };
}
