/** Instants in words: absolute in the zone that was chosen, relative to store time. Never to this machine's clock. */

import { storeNow } from "./api.js";
import { useEffect, useState } from "./dom.js";

const STEPS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();

/** How far an instant is away: "in 3 minutes", "2 hours ago". */
export function fromNow(ms, now = storeNow()) {
  const away = ms - now;
  if (Math.abs(away) < 1_000) return "now";
  const [unit, size] = STEPS.find(([, each]) => Math.abs(away) >= each) ?? STEPS[3];
  return relative.format(Math.trunc(away / size), unit);
}

/** A length of time: "850 ms", "2.5 s", "3 min", "4 h 10 min". */
export function span(ms) {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1).replace(/\.0$/, "")} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 86_400_000) {
    const minutes = Math.round(ms / 60_000) % 60;
    return `${Math.floor(ms / 3_600_000)} h${minutes ? ` ${minutes} min` : ""}`;
  }
  const days = Math.round(ms / 86_400_000);
  return `${days} ${days === 1 ? "day" : "days"}`;
}

/**
 * An instant on the clock of a zone: "2026-11-30 09:00:00".
 * @param {number} ms @param {string} zone an IANA name, "UTC", or "local"
 */
export function clock(ms, zone = "local") {
  const parts = Object.fromEntries(format(zone).formatToParts(ms).map((part) => [part.type, part.value]));
  const fraction = ms % 1_000 ? `.${String(ms % 1_000).padStart(3, "0")}` : "";
  return `${parts.year}-${parts.month}-${parts.day} ${parts.hour}:${parts.minute}:${parts.second}${fraction}`;
}

/** The name of a zone choice, for people. */
export function zoneName(zone) {
  return zone === "local" ? Intl.DateTimeFormat().resolvedOptions().timeZone : zone || "UTC";
}

/** From what `<input type="datetime-local">` holds, on this machine's clock, to an instant; null for none. */
export function fromInput(text) {
  const ms = text ? new Date(text).getTime() : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

/** Store time that moves each second: what shows it is drawn again. */
export function useNow(everyMs = 1_000) {
  const [now, setNow] = useState(storeNow());
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && setNow(storeNow()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

function format(zone) {
  const name = zone === "local" ? undefined : zone || "UTC";
  const key = name ?? "local";
  if (!formats.has(key)) {
    const style = { hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit" };
    Object.assign(style, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
    try {
      formats.set(key, new Intl.DateTimeFormat("en-CA", { ...style, timeZone: name }));
    } catch {
      formats.set(key, new Intl.DateTimeFormat("en-CA", { ...style, timeZone: "UTC" })); // a zone this browser lacks
    }
  }
  return formats.get(key);
}
