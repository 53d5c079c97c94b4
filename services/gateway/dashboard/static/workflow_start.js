// Starts a workflow on the build that is chosen, and says before what will run: <form data-starts="ID" data-total="3">.
import { call } from "./api.js";
import { followApp, hasBuild, placeRefusal, refuseWithoutBuild, versionOf } from "./build_choices.js";
import { allow, go, show, submitOnce } from "./forms.js";
import { showToast } from "./toast.js";
import { parseVariables } from "./variable_lines.js";

const FIELDS = { Android: "android_build", iOS: "ios_build" };
const PATH = "/api/v1/execution/api/execute_workflow_id_async";

/** Listen to the form. */
function startWorkflows() {
  for (const form of document.querySelectorAll("form[data-starts]")) {
    const { app, version } = form.elements;
    followApp(app, version, () => sayPlan(form));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      submitOnce(form, () => start(form));
    });
  }
  allow("form[data-starts]");
}

/** The app that is chosen, with its platform; null for what the workflow says. */
function chosenApp(form) {
  const option = form.elements.app.selectedOptions[0];
  return option?.value ? { id: option.value, name: option.textContent.trim(), platform: option.parentElement.label } : null;
}

function sayPlan(form) {
  const plan = form.querySelector("[data-plan]");
  const total = Number(form.dataset.total);
  const app = chosenApp(form);
  const count = app ? JSON.parse(form.dataset.counts)[app.platform] : total;
  if (!app) plan.textContent = `${tests(total)} will run. ${plan.dataset.asStored}`;
  else if (!hasBuild(form.elements.app, form.elements.version)) plan.textContent = `${app.name} has no build yet, so nothing can run on it.`;
  else plan.textContent = `${tests(count)} will run on ${app.name} ${versionOf(form.elements.version) ?? ""}, also those that are pinned to another build.${leftOut(total - count, app)}`;
}

function leftOut(count, { platform }) {
  return count > 0 ? ` ${tests(count)} of the other platform than ${platform} will not.` : "";
}

function tests(count) {
  return count === 1 ? "1 test" : `${count} tests`;
}

async function start(form) {
  const env = parseVariables(form.elements.env.value);
  const body = { workflow_id: form.dataset.starts, ...(env && { run_config: { env } }), ...buildOf(form) };
  try {
    go("/executions/{id}", await call("POST", PATH, body));
  } catch (error) {
    throw isOfChoices(error) ? placeRefusal(error, form.elements.app, form.elements.version) : error;
  }
  return false;
}

/** Whether what was refused is the app or the build. */
function isOfChoices({ issues = [] }) {
  return issues.some(({ path }) => path.startsWith("build_config."));
}

function buildOf(form) {
  const app = chosenApp(form);
  if (!app) return {};
  refuseWithoutBuild(form.elements.app, form.elements.version);
  const build = { app_id: app.id, pinned_version: versionOf(form.elements.version) };
  return { build_config: { [FIELDS[app.platform]]: build }, override_build_config: true };
}

startWorkflows();
