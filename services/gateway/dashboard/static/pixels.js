// Which pixels of two pictures differ, drawn in red over the paler second one.
import { hint } from "./text_elements.js";

// Of the 255 values of a colour; less is noise of the compression.
const TOLERANCE = 24;

/** A part of the page that shows it once both pictures are loaded. */
export function differingPixels(before, after) {
  const part = document.createElement("div");
  compare(part, before, after).catch(() => part.append(hint("The pixels could not be compared: a picture is not there any more.")));
  return part;
}

async function compare(part, ...sources) {
  const [one, other] = await Promise.all(sources.map(load));
  const [width, height] = [other.naturalWidth, other.naturalHeight];
  if (one.naturalWidth !== width || one.naturalHeight !== height) return part.append(hint("The pixels were not compared: the pictures have other sizes."));
  const [old, current] = [one, other].map((image) => pixels(image, width, height));
  const count = paint(old.data, current.data);
  if (!count) return part.append(hint("All pixels are the same, but for noise of the compression."));
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", "Pixels that differ");
  canvas.getContext("2d").putImageData(current, 0, 0);
  part.append(canvas);
  part.append(hint(`${((100 * count) / (width * height)).toFixed(1)} % of the pixels differ.`));
}

async function load(source) {
  const image = Object.assign(new Image(), { src: source });
  await image.decode();
  return image;
}

function pixels(image, width, height) {
  const context = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d", { willReadFrequently: true });
  context.drawImage(image, 0, 0);
  return context.getImageData(0, 0, width, height);
}

/** Make what differs red in the second one, and the rest paler. Returns how many pixels differ. */
function paint(old, current) {
  let count = 0;
  for (let at = 0; at < current.length; at += 4) {
    const differs = [0, 1, 2].some((channel) => Math.abs(old[at + channel] - current[at + channel]) > TOLERANCE);
    if (differs) count += 1;
    for (let channel = 0; channel < 3; channel += 1) {
      current[at + channel] = differs ? [212, 50, 63][channel] : 255 - (255 - current[at + channel]) / 4;
    }
  }
  return count;
}
