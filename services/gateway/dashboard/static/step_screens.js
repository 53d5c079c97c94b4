// The large screens of a step in the trace of an attempt, each with the element that the step chose.
import { mark } from "./screen_bounds.js";

/** Show the screens before and after the step, or a picture that belongs to no step, below its title. */
export function showScreens(trace, step) {
  const { label, before, beforeName = "Before", beforeArea, beforeReused, after, afterName = "After", afterArea, afterReused } = step.dataset;
  const title = label ? `${label}: ${step.querySelector(".text a").textContent}` : beforeName;
  const heading = trace.querySelector("[data-title]");
  heading.setAttribute("aria-live", trace.closest("[data-live]") ? "off" : "polite"); // not each step of a run under way
  if (heading.textContent !== title) heading.textContent = title;
  fill(trace.querySelector("[data-screen=before]"), before, beforeName, title, beforeArea, beforeReused);
  trace.querySelector("[data-screen=after] [data-missing]").textContent = step.dataset.missingAfter ?? "Not kept";
  fill(trace.querySelector("[data-screen=after]"), after, afterName, title, afterArea, afterReused);
  trace.querySelector("[data-screen=after]").hidden = !label;
}

function fill(figure, source, name, title, area, reused) {
  const screen = figure.querySelector(".screen");
  screen.hidden = !source;
  figure.querySelector("[data-missing]").hidden = Boolean(source);
  figure.querySelector("figcaption").textContent = name;
  figure.querySelector("[data-reused]").hidden = reused === undefined;
  if (source) draw(screen, source, `${name}, ${title}`, area);
}

/** The picture in a .screen, and the rectangle of the element, whose area is "x y width height" in shares of the picture. */
function draw(screen, source, caption, area) {
  const image = screen.querySelector("img");
  if (image.getAttribute("src") !== source) image.src = source;
  image.alt = caption;
  if (screen.href) screen.href = source;
  mark(screen.querySelector("rect"), area ? area.split(" ") : [0, 0, 0, 0]);
}

/** Show the picture of a link in a dialog. */
export function zoom(link) {
  const dialog = document.getElementById("zoom");
  const image = link.querySelector("img");
  const area = ["x", "y", "width", "height"].map((name) => link.querySelector("rect")?.getAttribute(name) ?? "0");
  draw(dialog.querySelector(".screen"), link.href, image.alt, area.join(" "));
  dialog.querySelector("[data-caption]").textContent = image.alt;
  if (!dialog.open) dialog.showModal();
}
