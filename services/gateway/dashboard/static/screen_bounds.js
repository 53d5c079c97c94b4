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

/** {width, height} of the screen in the units of the bounds; null if the source does not have them. */
export function readScreenSize(source) {
  const page = new DOMParser().parseFromString(source, "application/xml");
  for (const element of page.querySelectorAll("[width][height]")) {
    const [width, height] = [Number(element.getAttribute("width")), Number(element.getAttribute("height"))];
    if (width > 0 && height > 0) return { width, height };
  }
  return null;
}
