// The search of the API documentation: shows the operations that have all the words, and keeps them in the address.

const form = document.querySelector("[data-reference-search]");
const field = form.elements.q;
const entries = [...document.querySelectorAll("article[data-operation]")].map((article) => ({
  name: article.dataset.operation,
  text: searchedText(article),
}));

/** The name, path, descriptions, parameters and fields of the request. */
function searchedText(article) {
  const parts = article.querySelectorAll("header, .described > p, .described > .fields .name");
  return [...parts].map((part) => part.textContent).join(" ").toLowerCase();
}

function matching(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return new Set(entries.filter(({ text }) => words.every((word) => text.includes(word))).map(({ name }) => name));
}

function filter() {
  const shown = matching(field.value);
  for (const part of document.querySelectorAll("[data-operation]")) part.hidden = !shown.has(part.dataset.operation);
  for (const group of document.querySelectorAll("[data-group]")) {
    group.hidden = !group.querySelector("[data-operation]:not([hidden])");
  }
  document.querySelector("[data-no-match]").hidden = shown.size > 0;
  form.querySelector("[role=status]").textContent = field.value.trim() ? `${shown.size} of ${entries.length}` : "";
}

function keepInAddress() {
  const url = new URL(location.href);
  if (field.value.trim()) url.searchParams.set("q", field.value);
  else url.searchParams.delete("q");
  history.replaceState(null, "", url);
}

function search(query) {
  field.value = query;
  filter();
  keepInAddress();
}

/** A link to an operation that the search hides ends the search; the field that a link names is opened. */
function showTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (target?.closest("[hidden]")) search("");
  if (target instanceof HTMLDetailsElement) target.open = true;
  target?.scrollIntoView();
}

field.value = new URL(location.href).searchParams.get("q") ?? "";
filter();
if (location.hash) showTarget();
field.addEventListener("input", () => search(field.value));
addEventListener("hashchange", showTarget);
form.addEventListener("submit", (event) => event.preventDefault());
document.querySelector("[data-clear-search]").addEventListener("click", () => {
  search("");
  field.focus();
});
