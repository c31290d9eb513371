/** The keyboard: what each key does, told by `?`. No key is taken from who types into a field. */

import { html, useEffect } from "../app/dom.js";
import { go } from "../app/route.js";
import { FormDialog, ask } from "./dialog.js";

export const PLACES = [
  ["s", "schedules", "Schedules"],
  ["u", "upcoming", "Upcoming"],
  ["j", "jobs", "Jobs"],
  ["q", "queues", "Queues"],
  ["z", "quarantine", "Quarantine"],
  ["y", "system", "System"],
];

const HELP = [
  ["/", "search for a schedule"],
  ["?", "this help"],
  ...PLACES.map(([key, , name]) => [`g ${key}`, `go to ${name}`]),
  ["j, k", "next, previous row"],
  ["x", "select the row"],
  ["Enter", "open the row"],
  ["Esc", "close, or leave the field"],
];

/** Heed the keyboard for as long as the page lives. */
export function useKeys() {
  useEffect(() => {
    let waitsForPlace = false;
    const onKey = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      const typing = event.target.closest("input:not([type=checkbox]), textarea, select");
      if (typing) {
        if (event.key === "Escape") event.target.blur();
        return;
      }
      if (waitsForPlace) {
        waitsForPlace = false;
        const place = PLACES.find(([key]) => key === event.key);
        if (place) go(place[1]);
        return;
      }
      if (event.key === "g") waitsForPlace = true;
      else if (event.key === "?") ask(Help);
      else if (event.key === "/") focusOn("[data-search]", event);
      else if (event.key === "j") step(1);
      else if (event.key === "k") step(-1);
      else if (event.key === "x") current()?.querySelector("input[type=checkbox]")?.click();
      else if (event.key === "Enter" && event.target === current()) current().querySelector("a")?.click();
      else return;
      if (event.key !== "Enter") event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

const rows = () => Array.from(document.querySelectorAll("[data-row]"));
const current = () => document.activeElement?.closest("[data-row]");

function step(by) {
  const all = rows();
  const at = all.indexOf(current());
  all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by))]?.focus();
}

function focusOn(selector, event) {
  const found = document.querySelector(selector);
  event.preventDefault();
  if (!found) return go("schedules");
  found.focus();
  found.select?.();
}

export function Help({ done }) {
  return html`<${FormDialog} title="Keyboard" submitLabel="Close" submit=${async () => null} done=${done} closeOnly>
    <dl class="keys">${HELP.map(([key, what]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${what}</dd></div>`)}</dl>
  <//>`;
}
