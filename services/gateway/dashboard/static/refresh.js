// Parts of the page, by their ids, as the server renders them now. The rest of the page stays as it is.

/** Morph the parts in one request. The focus goes to the first part if what had it is gone. */
export async function refresh(ids) {
  const focused = document.activeElement;
  const opened = [...document.querySelectorAll("details[open][id]")];
  const response = await fetch(location.href);
  if (!response.ok || response.redirected) return location.reload();
  const text = await response.text();
  for (const id of ids) await window.htmx.swap(swapOf(id, text));
  for (const { id } of opened) document.getElementById(id)?.setAttribute("open", "");
  if (focused !== document.body && !focused.isConnected) document.getElementById(ids[0])?.focus();
}

function swapOf(id, text) {
  return { sourceElement: document.body, text, target: `#${id}`, select: `#${id}`, swap: "outerMorph" };
}
