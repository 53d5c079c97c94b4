// The tests or runs of a page that are selected: <input type="checkbox" data-pick="ID" data-name="...">, that of a run with
// data-test="the id of its test". A box data-pick-all is for those of its table. What can be done with them is shown while there
// are some: <div data-bulk-actions="the id of the part to refresh">.

/** Listen to the boxes. */
export function startSelection() {
  document.addEventListener("change", ({ target }) => {
    if (target.matches("[data-pick-all]")) for (const box of boxes(target.closest("table"))) box.checked = target.checked;
    if (target.matches("[data-pick], [data-pick-all]")) show();
  });
  addEventListener("pageshow", show); // browsers keep checked boxes when somebody goes back
  document.addEventListener("parts:change", show);
  show();
}

/** Those that are selected: their ids and names, and the ids of their tests. */
export function selected() {
  const picked = boxes().filter(({ checked }) => checked);
  return picked.map(({ dataset: { pick: id, name, test = id } }) => ({ id, name, test }));
}

/** Select those with these ids, and no others. */
export function select(ids) {
  for (const box of boxes()) box.checked = ids.includes(box.dataset.pick);
  show();
}

/** The id of the part of the page that shows them. */
export function selectionPart() {
  return actions().dataset.bulkActions;
}

function actions() {
  return document.querySelector("[data-bulk-actions]");
}

function boxes(part = document) {
  return [...part.querySelectorAll("[data-pick]")];
}

function show() {
  const count = selected().length;
  const shown = actions();
  if (!shown) return; // nothing can be done, as with an execution that has not ended
  shown.hidden = count === 0;
  shown.querySelector("[data-bulk-count]").textContent = `${count} selected`;
  const again = shown.querySelector("[data-bulk-rerun]");
  if (again) again.textContent = `Run again (${count})`;
  document.querySelectorAll("[data-pick-all]").forEach(showWhetherAll);
}

function showWhetherAll(all) {
  const those = boxes(all.closest("table"));
  const count = those.filter(({ checked }) => checked).length;
  all.checked = count > 0 && count === those.length;
  all.indeterminate = count > 0 && !all.checked;
}
