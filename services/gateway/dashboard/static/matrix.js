// The matrix: arrow keys move between its cells, and the text of a cell shows on hover and focus.

/** Make each matrix of the page one stop of the Tab key; the cells are a grid. */
function startMatrices() {
  const table = document.querySelector("table[data-grid]");
  if (!table) return;
  makeGrid(table);
  document.addEventListener("parts:change", () => makeGrid(table));
  table.addEventListener("keydown", move);
  showTexts(table, document.body.appendChild(createTip()));
}

function makeGrid(table) {
  table.setAttribute("role", "grid");
  for (const cell of table.querySelectorAll(".cell")) cell.tabIndex = -1;
  table.querySelector(".cell").tabIndex = 0;
}

const STEPS = {
  ArrowLeft: (row, column) => [row, column - 1],
  ArrowRight: (row, column) => [row, column + 1],
  ArrowUp: (row, column) => [row - 1, column],
  ArrowDown: (row, column) => [row + 1, column],
  Home: (row, _, event) => [event.ctrlKey ? 0 : row, 0],
  End: (row, _, event, rows) => [event.ctrlKey ? rows.length - 1 : row, rows[row].cells.length - 2],
  PageUp: (row, column) => [Math.max(0, row - 10), column],
  PageDown: (row, column, _, rows) => [Math.min(rows.length - 1, row + 10), column],
};

function move(event) {
  const cell = event.target.closest(".cell");
  const step = STEPS[event.key];
  if (!cell || !step) return;
  event.preventDefault();
  const rows = event.currentTarget.tBodies[0].rows;
  const { cellIndex, parentElement } = cell.parentElement;
  const [row, column] = step(parentElement.sectionRowIndex, cellIndex - 1, event, rows);
  const next = column < 0 ? null : rows[row]?.cells[column + 1]?.querySelector(".cell");
  if (!next) return;
  cell.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function createTip() {
  const tip = document.createElement("div");
  tip.className = "cell-tip";
  tip.hidden = true;
  return tip;
}

/** One tip for all cells, which screen readers have as their names already. */
function showTexts(table, tip) {
  const hide = () => {
    tip.hidden = true;
  };
  for (const event of ["pointerover", "focusin"]) {
    table.addEventListener(event, ({ target }) => {
      const cell = target.closest(".cell");
      if (cell) place(tip, cell);
      else hide();
    });
  }
  for (const event of ["pointerleave", "focusout"]) table.addEventListener(event, hide);
  table.parentElement.addEventListener("scroll", hide);
  document.addEventListener("keydown", ({ key }) => key === "Escape" && hide());
}

function place(tip, cell) {
  tip.textContent = cell.getAttribute("aria-label");
  tip.hidden = false;
  const around = cell.getBoundingClientRect();
  const below = around.bottom + 6 + tip.offsetHeight <= innerHeight;
  tip.style.top = `${below ? around.bottom + 6 : around.top - 6 - tip.offsetHeight}px`;
  tip.style.left = `${Math.max(8, Math.min(around.left, innerWidth - tip.offsetWidth - 8))}px`;
}

startMatrices();
