// Runs the selected tests on the app and the build that are chosen in a form.
import { call } from "./api.js";
import { placeRefusal, refuseWithoutBuild, versionOf } from "./build_choices.js";
import { go } from "./forms.js";
import { selected } from "./selection.js";

/** Go to the new execution. Error with `fields`: no app is chosen, or the start was refused. */
export async function startSelected(form) {
  const { app, version } = form.elements;
  const option = app.selectedOptions[0];
  if (!option?.value) throw wrong("app", "Choose the app on which they run.");
  refuseWithoutBuild(app, version);
  const field = option.parentElement.label === "iOS" ? "ios_build" : "android_build";
  const chosen = selected();
  const tests = chosen.map(({ id }) => ({ test_id: id }));
  const build = { app_id: app.value, pinned_version: versionOf(version) };
  const body = { name: `${tests.length} selected tests`, tests, build_config: { [field]: build }, override_build_config: true };
  try {
    go("/executions/{id}", await call("POST", "/api/v1/executions", body));
  } catch (error) {
    const gone = deletedOf(chosen, error);
    throw gone.length ? wrong("app", `Deleted meanwhile: ${gone.join(", ")}. Clear them from the selection.`) : placeRefusal(error, app, version);
  }
  return false;
}

/** The names of the selected tests that a start was refused for because they do not exist any more. */
function deletedOf(tests, { issues = [] }) {
  const places = issues.filter(({ kind }) => kind === "not_found").map(({ path }) => /^tests\.(\d+)\./.exec(path)?.[1]);
  return places.filter(Boolean).map((place) => tests[Number(place)].name);
}

/** What is wrong with a field of a form, by its name. */
export function wrong(field, message) {
  return Object.assign(new Error(message), { fields: { [field]: message } });
}
