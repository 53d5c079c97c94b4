// What a check of steps has found, as a list beside the editor.

/** An item of the list: whether it is a problem, a warning or a notice, a button that leads to its place, and its message. */
export function findingItem({ line, column, message }, outcome, kind) {
  const item = document.createElement("li");
  const badge = document.createElement("span");
  badge.className = `badge ${outcome}`;
  badge.textContent = kind;
  item.append(badge, " ");
  if (line) item.append(placeButton(line, column), " ");
  const sentence = document.createElement("div");
  sentence.textContent = message;
  item.append(sentence);
  return item;
}

function placeButton(line, column) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button small";
  button.textContent = place({ line, column });
  Object.assign(button.dataset, { line, column });
  return button;
}

function place({ line, column }) {
  return `Line ${line}, column ${column}`;
}

/** One sentence about all of them. */
export function summary(problems, warnings, notices) {
  if (problems.length) return `${counted(problems, "problem")}, the first on ${place(problems[0]).toLowerCase()}.`;
  const others = [counted(warnings, "warning"), counted(notices, "notice")].filter((text) => !text.startsWith("0"));
  return others.length ? `${others.join(", ")}.` : "None found.";
}

function counted(list, noun) {
  return `${list.length} ${noun}${list.length === 1 ? "" : "s"}`;
}
