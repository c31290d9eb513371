/** What the form holds, as text by field, and the definition that it stands for. */

import { parseExact } from "./exact.js";

const WHOLE = ["priority", "max_attempts", "timeout_ms", "retention_ms", "backfill_limit", "jitter_ms"];
const WHOLE_OR_NONE = ["max_lateness_ms", "deadline_ms", "starts_at_ms", "ends_at_ms"];
const TEXT = ["kind", "spec", "queue", "on_missed", "description", "overlap", "owner"];

const NEW = {
  kind: "", spec: "", queue: "default", on_missed: "skip", description: "", overlap: "allow", owner: "",
  priority: 0, max_attempts: 5, timeout_ms: 300_000, retention_ms: 86_400_000, backfill_limit: 100, jitter_ms: 0,
  max_lateness_ms: null, deadline_ms: null, starts_at_ms: null, ends_at_ms: null, unique_key: null,
  payload: null, labels: {}, headers: {},
};

/** Fields that are behind "Advanced". */
export const ADVANCED = [
  "priority", "max_attempts", "timeout_ms", "retention_ms", "overlap", "starts_at_ms", "ends_at_ms", "jitter_ms",
  "max_lateness_ms", "deadline_ms", "unique_key", "headers", "owner",
];

/** @param {any} [schedule] one with payload and headers; none for a new one @returns {Record<string, string>} */
export function draftOf(schedule = NEW) {
  const draft = { unique_key: schedule.unique_key ?? "" };
  for (const name of [...WHOLE, ...WHOLE_OR_NONE, ...TEXT]) draft[name] = String(schedule[name] ?? "");
  draft.payload = schedule.payload === null ? "" : JSON.stringify(schedule.payload, null, 2);
  draft.headers = Object.keys(schedule.headers).length ? JSON.stringify(schedule.headers, null, 2) : "";
  draft.labels = Object.entries(schedule.labels).map(([name, value]) => `${name}=${value}`).join("\n");
  return draft;
}

/**
 * The whole definition, as a PUT takes it: what it leaves out would get its default. Ranges are the server's to check.
 * @param {Record<string, string>} draft
 * @returns {{body: Record<string, unknown>, problems: Record<string, string>}}
 */
export function definitionOf(draft) {
  const body = { unique_key: draft.unique_key || null };
  const problems = {};
  const take = (name, read) => {
    try {
      body[name] = read(draft[name]);
    } catch (error) {
      problems[name] = error.message;
    }
  };
  for (const name of TEXT) body[name] = draft[name];
  for (const name of WHOLE) take(name, whole);
  for (const name of WHOLE_OR_NONE) take(name, (text) => (text.trim() ? whole(text) : null));
  take("payload", (text) => (text.trim() ? json(text) : null));
  take("headers", (text) => (text.trim() ? json(text) : {}));
  take("labels", labels);
  return { body, problems };
}

/** What is left of my draft once they have changed theirs: what I changed is mine, the rest is theirs. */
export function merged(base, theirs, mine) {
  const entries = Object.keys(mine).map((name) => [name, mine[name] === base[name] ? theirs[name] : mine[name]]);
  return Object.fromEntries(entries);
}

function whole(text) {
  const number = /^-?\d+$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(number)) throw new Error("This must be a whole number.");
  return number;
}

function json(text) {
  try {
    return parseExact(text);
  } catch (error) {
    throw new Error(error instanceof SyntaxError ? `This is no JSON: ${error.message}.` : "This browser is too old to write these numbers exactly.");
  }
}

function labels(text) {
  const pairs = text.split("\n").filter((line) => line.trim()).map((line) => {
    const at = line.indexOf("=");
    if (at < 1) throw new Error(`“${line}” is no name=value.`);
    return [line.slice(0, at), line.slice(at + 1)];
  });
  return Object.fromEntries(pairs);
}
