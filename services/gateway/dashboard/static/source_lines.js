// Lines of a textarea: their numbers beside it, and moving to one of them.

/** Show as many numbers as there are lines; those in `marked` are coloured. */
export function numberLines(gutter, area, marked) {
  const count = area.value.split("\n").length;
  const key = `${count} ${[...marked].join()}`;
  if (gutter.dataset.shown !== key) {
    gutter.replaceChildren(...Array.from({ length: count }, (_, index) => lineNumber(index + 1, marked)));
    gutter.dataset.shown = key;
  }
  gutter.scrollTop = area.scrollTop;
}

function lineNumber(number, marked) {
  const line = document.createElement("div");
  line.textContent = number;
  if (marked.has(number)) line.className = "failed";
  return line;
}

/** Move the cursor to a line and a column, which counts characters from 1. */
export function moveTo(area, line, column) {
  const lines = area.value.split("\n");
  const before = lines.slice(0, line - 1).reduce((length, text) => length + text.length + 1, 0);
  const offset = before + [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length;
  area.focus();
  area.setSelectionRange(offset, offset);
  const height = parseFloat(getComputedStyle(area).lineHeight);
  area.scrollTop = Math.max(0, (line - 1) * height - area.clientHeight / 2);
}
