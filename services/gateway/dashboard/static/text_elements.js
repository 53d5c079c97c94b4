// Elements that show one text.

/** The element of this name with the text, which is never read as HTML. */
export function textElement(name, text, className = "") {
  const element = document.createElement(name);
  element.textContent = text;
  if (className) element.className = className;
  return element;
}

/** A paragraph that explains what is beside it. */
export function hint(text) {
  return textElement("p", text, "hint");
}
