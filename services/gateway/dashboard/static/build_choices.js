// The builds of the app that is chosen in another field: <select data-chosen="1.0.0">, with data-follows also its current build.
import { call } from "./api.js";

const BUILDS = 100;

/** Fill `builds` whenever another app is chosen in `apps`, and call `changed` then. */
export function followApp(apps, builds, changed) {
  const fill = async () => {
    const app = apps.value;
    builds.closest(".field").hidden = !app;
    builds.replaceChildren();
    changed();
    if (!app) return;
    const listed = await list(app, builds.dataset.chosen);
    if (apps.value !== app) return; // another one was chosen meanwhile
    builds.replaceChildren(...options(builds, apps.selectedOptions[0].dataset.current, listed));
    changed();
  };
  apps.addEventListener("change", () => {
    builds.dataset.chosen = "";
    fill();
  });
  builds.addEventListener("change", () => {
    builds.dataset.chosen = builds.value;
    changed();
  });
  fill();
}

/** The version that is chosen, also before the builds are known; null for the current one. */
export function versionOf(builds) {
  return (builds.options.length ? builds.value : builds.dataset.chosen) || null;
}

/** Refuse the app that is chosen if nothing can run on it: it has no build, and it is no page of the web. Error with `fields`. */
export function refuseWithoutBuild(apps, builds) {
  if (hasBuild(apps, builds)) return;
  const message = "This app has no build yet, so nothing can run: upload one on the page of the app, or choose another app.";
  throw Object.assign(new Error(message), { fields: { [builds.name]: message } });
}

/** What a start was refused for, beside the build if that was deleted meanwhile, else beside the app. */
export function placeRefusal(error, apps, builds) {
  const isOfBuild = (error.issues ?? []).some(({ path }) => path.endsWith(".pinned_version"));
  const message = isOfBuild ? `${error.message}: it was deleted or renamed. Choose another build.` : error.message;
  return Object.assign(new Error(message), { fields: { [isOfBuild ? builds.name : apps.name]: message } });
}

/** Whether something can run on the app that is chosen. */
export function hasBuild(apps, builds) {
  const { current, web } = apps.selectedOptions[0].dataset;
  return Boolean(current || web !== undefined || versionOf(builds));
}

/** The newest builds of an app; `isMissing`: none of all has the version that is chosen. */
async function list(app, chosen) {
  const path = `/api/v1/apps/${app}/builds`;
  try {
    const { items, has_next: hasMore } = await call("GET", `${path}?page_size=${BUILDS}`);
    const isListed = !chosen || items.some(({ version }) => version === chosen);
    const found = isListed || !hasMore ? null : await call("GET", `${path}?${new URLSearchParams({ version: chosen, page_size: 1 })}`);
    return { items, isMissing: !isListed && !found?.total };
  } catch {
    return { items: [], isMissing: false }; // the current build and the chosen one can still be chosen
  }
}

function options(builds, current, { items, isMissing }) {
  const { chosen, follows } = builds.dataset;
  const versions = items.map(({ version }) => version);
  if (current && !versions.includes(current)) versions.unshift(current);
  const choices = versions.map((version) => choice(version, version === current ? `${version} (current)` : version));
  if (chosen && !versions.includes(chosen)) choices.push(choice(chosen, isMissing ? `${chosen} (no such build)` : chosen));
  if (!choices.length && follows === undefined) choices.push(choice("", "none yet"));
  if (follows !== undefined) choices.unshift(choice("", `Its current build${current ? `, now ${current}` : ""}`));
  const wanted = chosen || (follows === undefined ? current : "");
  const selected = choices.find(({ value }) => value === wanted) ?? choices[0];
  if (selected) selected.selected = true;
  return choices;
}

function choice(value, text) {
  return new Option(text, value);
}
