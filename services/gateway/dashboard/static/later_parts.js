// Parts that are slow to make: <section id="changes" data-later="/another/page">, which that page has under the same id.
import { loadHtmx } from "./refresh.js";

async function load(part) {
  try {
    const response = await fetch(part.dataset.later, { signal: AbortSignal.timeout(60_000) });
    if (!response.ok || response.redirected) return;
    const htmx = await loadHtmx();
    const target = `#${part.id}`;
    await htmx.swap({ sourceElement: document.body, text: await response.text(), target, select: target, swap: "outerHTML" });
    document.dispatchEvent(new CustomEvent("parts:change"));
  } catch {
    // the link to the other page stays
  }
}

document.querySelectorAll("[data-later]").forEach(load);
