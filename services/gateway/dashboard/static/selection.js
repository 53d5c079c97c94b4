// Which tests of a page are selected: <input type="checkbox" data-pick="ID" data-name="..."> and [data-pick-all].

/** Listen to the boxes, and show how many are checked. */
export function startSelection() {
  document.addEventListener("change", ({ target }) => {
    if (target.matches("[data-pick-all]")) for (const box of boxes()) box.checked = target.checked;
    if (target.matches("[data-pick], [data-pick-all]")) showSelection();
  });
  addEventListener("pageshow", showSelection); // browsers keep checked boxes when somebody goes back
  showSelection();
}

function boxes() {
  return [...document.querySelectorAll("[data-pick]")];
}

/** The id and the name of each test that is selected. */
export function selected() {
  return boxes().filter(({ checked }) => checked).map(({ dataset }) => ({ id: dataset.pick, name: dataset.name }));
}

/** Select the tests with these ids, and no others. */
export function select(ids) {
  for (const box of boxes()) box.checked = ids.includes(box.dataset.pick);
  showSelection();
}

function showSelection() {
  const count = selected().length;
  const all = document.querySelector("[data-pick-all]");
  document.querySelector("[data-bulk-actions]").hidden = count === 0;
  document.querySelector("[data-bulk-count]").textContent = `${count} selected`;
  if (!all) return;
  all.checked = count > 0 && count === boxes().length;
  all.indeterminate = count > 0 && !all.checked;
}
