// The switch between light, dark and the system's theme: <select data-theme-switch>. The choice is stored in this browser.
// Loaded in <head> with blocking="render", so that the page is never painted in the other theme first.

const KEY = "theme";
const THEMES = ["light", "dark"];

/** "light", "dark" or "system", which is also the answer where storage is not permitted. */
function storedTheme() {
  try {
    const theme = localStorage.getItem(KEY);
    return THEMES.includes(theme) ? theme : "system";
  } catch {
    return "system";
  }
}

function storeTheme(theme) {
  try {
    if (THEMES.includes(theme)) localStorage.setItem(KEY, theme);
    else localStorage.removeItem(KEY);
  } catch {
    // Storage is not permitted: the theme applies to this page only.
  }
}

/** Apply a theme to the page and to its switches; charts draw again on the event "theme:change". */
function applyTheme(theme) {
  if (THEMES.includes(theme)) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  document.querySelectorAll("[data-theme-switch]").forEach((control) => {
    control.value = theme;
  });
  document.dispatchEvent(new CustomEvent("theme:change", { detail: { theme } }));
}

/** Listen to the switches, to other tabs, and to the system. */
function startTheme() {
  applyTheme(storedTheme());
  document.addEventListener("DOMContentLoaded", () => applyTheme(storedTheme()));
  document.addEventListener("change", ({ target }) => {
    if (!target.matches("[data-theme-switch]")) return;
    storeTheme(target.value);
    applyTheme(target.value);
  });
  addEventListener("storage", ({ key }) => {
    if (key === KEY || key === null) applyTheme(storedTheme());
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => applyTheme(storedTheme()));
}

startTheme();
