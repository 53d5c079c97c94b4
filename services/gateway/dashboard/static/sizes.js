// Sizes of files for people, and those that only a download knows: <dd data-size-of="/api/v1/apps/builds/7/download">.

const UNITS = ["bytes", "KiB", "MiB", "GiB"];

/** "12.4 MiB" */
export function formatSize(bytes) {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(bytes, 1)) / 10));
  const amount = bytes / 1024 ** power;
  return `${power ? amount.toFixed(1) : amount} ${UNITS[power]}`;
}

/** Show the sizes of the page, also when a part of it is refreshed. */
function startSizes() {
  const showAll = () => document.querySelectorAll("[data-size-of]").forEach(showSize);
  showAll();
  document.addEventListener("parts:change", showAll);
}

async function showSize(place) {
  const response = await fetch(place.dataset.sizeOf, { method: "HEAD" }).catch(() => null);
  const length = response?.ok ? response.headers.get("Content-Length") : null;
  if (length !== null) place.textContent = formatSize(Number(length));
}

startSizes();
