/** What a person prefers, kept by the browser: theme, whose clock, and whether views follow what changes. */

import { useEffect, useState } from "./dom.js";

const DEFAULTS = { theme: "system", clock: "local", live: "on" };
/** @type {Set<() => void>} */
const watchers = new Set();
const prefs = { ...DEFAULTS, ...stored() };

/** @param {"theme"|"clock"|"live"} name */
export const pref = (name) => prefs[name];

export function setPref(name, value) {
  prefs[name] = value;
  try {
    localStorage.setItem("headgate", JSON.stringify(prefs));
  } catch {
    // a browser that keeps nothing: it holds until the page is left
  }
  applyTheme();
  for (const watcher of watchers) watcher();
}

/** @param {"theme"|"clock"|"live"} name */
export function usePref(name) {
  const [value, setValue] = useState(prefs[name]);
  useEffect(() => {
    const watcher = () => setValue(prefs[name]);
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  }, [name]);
  return value;
}

/** The theme of the system needs no attribute: the style sheet follows it by itself. */
export function applyTheme() {
  if (prefs.theme === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset.theme = prefs.theme;
}

function stored() {
  try {
    return JSON.parse(localStorage.getItem("headgate") ?? "{}");
  } catch {
    return {};
  }
}
