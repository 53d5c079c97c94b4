// The screens of an attempt: a link to a picture shows it beside the steps, with the element marked; the large one can be zoomed.

const chosen = new Map(); // the attempt's id, and the name of the picture

/** Listen to the links to pictures, and show the same pictures again after a live page has changed. */
function startScreens() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-picture], a[data-zoom]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    if ("zoom" in link.dataset) zoom(link);
    else choose(link);
  });
  document.addEventListener("keydown", step);
  document.addEventListener("parts:change", () => {
    for (const [id, name] of chosen) {
      const link = document.querySelector(`#${CSS.escape(id)} a[data-picture="${CSS.escape(name)}"]`);
      if (link) show(link);
    }
  });
}

function choose(link) {
  chosen.set(link.closest("[id^=attempt-]:not(li)").id, link.dataset.picture);
  show(link);
}

function show(link) {
  const screens = link.closest("[data-screens]");
  const large = screens.querySelector("a[data-zoom]");
  draw(large, link.href, link.dataset.caption, link.dataset.area);
  large.href = link.href;
  screens.querySelector("figcaption").textContent = link.dataset.caption;
  for (const each of screens.querySelectorAll("a.screen[data-picture]")) {
    if (each.dataset.picture === link.dataset.picture) each.setAttribute("aria-current", "true");
    else each.removeAttribute("aria-current");
  }
}

/** The picture in a .screen, and the rectangle of the element, whose area is "x y width height" in shares of the picture. */
function draw(screen, source, caption, area) {
  const image = screen.querySelector("img");
  image.src = source;
  image.alt = caption;
  const rectangle = screen.querySelector("rect");
  for (const [index, name] of ["x", "y", "width", "height"].entries()) {
    rectangle.setAttribute(name, area ? area.split(" ")[index] : "0");
  }
}

function zoom(link) {
  const dialog = document.getElementById("zoom");
  const rectangle = link.querySelector("rect");
  const area = ["x", "y", "width", "height"].map((name) => rectangle?.getAttribute(name) ?? "0").join(" ");
  const image = link.querySelector("img");
  draw(dialog.querySelector(".screen"), link.href, image.alt, area);
  dialog.querySelector("[data-caption]").textContent = image.alt;
  if (!dialog.open) dialog.showModal();
}

/** The arrow keys move along a filmstrip. */
function step(event) {
  const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const link = event.target.closest?.(".filmstrip a[data-picture]");
  if (!move || !link) return;
  const links = [...link.closest(".filmstrip").querySelectorAll("a[data-picture]")];
  const next = links[links.indexOf(link) + move];
  if (!next) return;
  event.preventDefault();
  next.focus();
  choose(next);
}

startScreens();
