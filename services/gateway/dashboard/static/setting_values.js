// Values of settings, as a form has them and as REST answers with them.

/** What a field with data-setting="text", "number" or "boolean" says; null if it is empty. */
export function settingOf({ value, dataset }) {
  if (value === "") return null;
  if (dataset.setting === "number") return Number(value);
  return dataset.setting === "boolean" ? value === "true" : value;
}

/** Null is what is absent, in settings and their folders. */
export function withoutNulls(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  const entries = Object.entries(value).map(([name, each]) => [name, withoutNulls(each)]).filter(([, each]) => each !== null);
  return entries.length ? Object.fromEntries(entries) : null;
}

/** The value without nulls, and null for one that is absent. */
export function comparable(value) {
  return Array.isArray(value) ? value : withoutNulls(value ?? null);
}

/** Whether two values are equal but for nulls and the order of names. */
export function isSame(one, other) {
  return JSON.stringify(sorted(comparable(one))) === JSON.stringify(sorted(comparable(other)));
}

function sorted(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(Object.keys(value).sort().map((name) => [name, sorted(value[name])]));
}
