/** The fields of a schedule's definition: what each is called, and a value of it in words. */

import { usePref } from "../app/prefs.js";
import { clock, span, zoneName } from "../app/time.js";
import { POLICIES } from "../app/words.js";

export const NAMES = {
  spec: "When",
  kind: "Kind",
  payload: "Payload",
  queue: "Queue",
  on_missed: "Missed ticks",
  backfill_limit: "Backfill limit",
  description: "Description",
  labels: "Labels",
  priority: "Priority",
  max_attempts: "Attempts",
  timeout_ms: "Timeout",
  retention_ms: "Retention",
  overlap: "Overlap",
  max_lateness_ms: "Max lateness",
  starts_at_ms: "Starts",
  ends_at_ms: "Ends",
  jitter_ms: "Jitter",
  unique_key: "Unique key",
  headers: "Headers",
  deadline_ms: "Deadline",
  owner: "Owner",
};

export const OVERLAPS = {
  allow: ["Runs side by side", "A tick becomes a job, also while the run before it is not over."],
  skip: ["One run at a time", "A tick makes no job while the run before it is not over."],
};

const INSTANT = /^(starts_at|ends_at|until|since|paused_until|paused_since|next_run|last_tick|anchor)_ms$/;

/** Whose clock was chosen at the top, for a schedule of this zone: an IANA name, "UTC", or "local". */
export function useZone(zone) {
  const choice = usePref("clock");
  return choice === "schedule" ? zone || "UTC" : choice === "utc" ? "UTC" : "local";
}

/** The name of that zone, for a heading above absolute times. */
export const useZoneName = (zone) => zoneName(useZone(zone));

/** That clock: from an instant to text. */
export function useClock(zone) {
  const own = useZone(zone);
  return (ms) => clock(ms, own);
}

/**
 * The value of a field in words; `value` is text as the log of changes and the form have it.
 * @param {string} name @param {string|null} value @param {(ms: number) => string} instant
 */
export function worded(name, value, instant) {
  if (value === null || value === undefined || value === "") return "—";
  if (INSTANT.test(name)) return instant(Number(value));
  if (name.endsWith("_ms")) return span(Number(value));
  if (name === "on_missed") return POLICIES[value]?.[0] ?? value;
  if (name === "overlap") return OVERLAPS[value]?.[0] ?? value;
  return String(value);
}
