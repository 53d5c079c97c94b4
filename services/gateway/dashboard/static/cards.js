// Lists on narrow screens, where dashboard.css shows each row of a .table as a card: cells say the names of their columns.
// Browsers that no longer see a table in it get its roles back.

const NARROW = matchMedia("(max-width: 720px)");
const ROLES = { TABLE: "table", THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TD: "cell" };

/** Label the lists of the page, and those that come later. */
export function startCards() {
  const labelAll = () => NARROW.matches && document.querySelectorAll(".table").forEach(labelTable);
  labelAll();
  NARROW.addEventListener("change", labelAll);
  document.addEventListener("parts:change", labelAll);
}

function labelTable(table) {
  for (const element of [table, ...table.querySelectorAll("thead, tbody, tr, th, td")]) element.role = roleOf(element);
  const names = [...table.tHead.rows[0].cells].map((cell) => (cell.querySelector(".visually-hidden") ? "" : cell.textContent.trim()));
  for (const row of table.tBodies[0].rows) {
    for (const cell of row.querySelectorAll("td")) labelCell(cell, names[cell.cellIndex]);
  }
}

function roleOf(element) {
  if (element.tagName === "TH") return element.scope === "row" ? "rowheader" : "columnheader";
  return ROLES[element.tagName];
}

/** A cell without a value, which only a column needs, is left out. */
function labelCell(cell, name) {
  if (name && !cell.querySelector("summary")) cell.dataset.label = name;
  cell.toggleAttribute("data-empty", ["", "-"].includes(cell.textContent.trim()) && !cell.querySelector("input, img, .cell"));
}
