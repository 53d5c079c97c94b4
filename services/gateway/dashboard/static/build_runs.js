// What can run on a build that was just uploaded: buttons in [data-runs] of its form, <form data-app="..." data-platform="iOS">.
import { call } from "./api.js";
import { go, runOnce } from "./forms.js";
import { showToast } from "./toast.js";

const WORKFLOWS = 100; // the newest, among which those of the app are looked for
const OFFERED = 5;
const ATTACHMENTS = 500;
const STARTED = 1000; // the most tests of one execution
const START_WORKFLOW = "/api/v1/execution/api/execute_workflow_id_async";

/** Offer to run the attached tests and the workflows of the app on the build; nothing without the right to start. */
export async function offerRuns(form, build) {
  const place = form.querySelector("[data-runs]");
  place?.replaceChildren();
  if (!place || !build) return;
  const { app, platform } = form.dataset;
  const [attached, workflows] = await Promise.all([
    call("GET", `/api/v1/apps/${app}/tests?page_size=1`),
    call("GET", `/api/v1/workflows?page_size=${WORKFLOWS}`),
  ]);
  const config = configOf(form, build);
  if (attached.total) {
    const count = attached.total === 1 ? "the attached test" : `all ${Math.min(attached.total, STARTED)} attached tests`;
    place.append(button(`Run ${count} on ${build.version}`, () => startTests(app, build, config)));
  }
  const fitting = fittingWorkflows(workflows.items, app, fieldOf(platform));
  for (const { id, name } of fitting.slice(0, OFFERED)) {
    place.append(button(`Run ${name} on ${build.version}`, () => call("POST", START_WORKFLOW, { workflow_id: id, ...config })));
  }
  if (fitting.length > OFFERED || workflows.has_next) place.append(link("/workflows", "Other workflows"));
}

/** Those that name the app, then those that name none. */
function fittingWorkflows(workflows, app, field) {
  const naming = workflows.filter(({ build_config: config }) => config?.[field]?.app_id === app);
  return [...naming, ...workflows.filter(({ build_config: config, test_ids: ids, tags }) => !config && (ids.length || tags.length))];
}

async function startTests(app, build, config) {
  const tests = [];
  for (let page = 1; tests.length < STARTED; page += 1) {
    const { items, has_next: hasMore } = await call("GET", `/api/v1/apps/${app}/tests?page_size=${ATTACHMENTS}&page=${page}`);
    tests.push(...items.map(({ test_id: id }) => ({ test_id: id })));
    if (!hasMore) break;
  }
  return call("POST", "/api/v1/executions", { name: `Build ${build.version}`.slice(0, 200), tests: tests.slice(0, STARTED), ...config });
}

function fieldOf(platform) {
  return platform === "iOS" ? "ios_build" : "android_build";
}

/** Exactly this build, also for tests that are pinned to another one. */
function configOf({ dataset: { app, platform } }, { version }) {
  return { build_config: { [fieldOf(platform)]: { app_id: app, pinned_version: version } }, override_build_config: true };
}

function button(text, start) {
  const element = document.createElement("button");
  Object.assign(element, { type: "button", className: "button", textContent: text });
  const run = async () => {
    go("/executions/{id}", await start());
    return false;
  };
  element.addEventListener("click", () => runOnce(element, run, (error) => showToast(error.message, "failed")));
  return element;
}

/** A link within the dashboard. */
export function link(href, text) {
  const element = document.createElement("a");
  Object.assign(element, { href, textContent: text });
  return element;
}
