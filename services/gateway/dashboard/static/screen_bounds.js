// Where elements are on a screen, from their attributes in a page source.

const ANDROID_BOUNDS = /^\[(-?\d+),(-?\d+)\]\[(-?\d+),(-?\d+)\]$/;

/** {x, y, width, height} of an element of Android or iOS, null if its attributes do not have them. */
export function readBounds(attributes) {
  const corners = ANDROID_BOUNDS.exec(attributes.bounds ?? "")?.slice(1).map(Number);
  if (corners) {
    const [left, top, right, bottom] = corners;
    return { x: left, y: top, width: right - left, height: bottom - top };
  }
  const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => Number(attributes[name] ?? NaN));
  return [x, y, width, height].every(Number.isFinite) ? { x, y, width, height } : null;
}

/** The width of the screen in the units of the bounds: what the source says, or the farthest that its elements reach. */
export function readScreenWidth(source) {
  const page = new DOMParser().parseFromString(source, "application/xml");
  const declared = [...page.querySelectorAll("[width]")].map((element) => Number(element.getAttribute("width")));
  const width = declared.find((each) => each > 0);
  if (width) return width;
  const found = [...page.querySelectorAll("[bounds]")].map((e) => readBounds({ bounds: e.getAttribute("bounds") }));
  return found.reduce((most, bounds) => Math.max(most, bounds ? bounds.x + bounds.width : 0), 0);
}

/** Move a rectangle of an svg to "x y width height" in its units. */
export function mark(rectangle, area) {
  for (const [index, name] of ["x", "y", "width", "height"].entries()) rectangle.setAttribute(name, area[index]);
}
