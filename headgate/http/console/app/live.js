/**
 * What changes, as it changes: one event stream for the whole page, and reads that heed it.
 *
 * A hint says that there is something to read anew, and not what. Many of them at once are one read.
 *
 * @typedef {{kind: "schedule"|"job"|"duty"|"reset", id: string}} Hint
 */

import { get, Problem, url } from "./api.js";
import { useCallback, useEffect, useRef, useState } from "./dom.js";

const GATHER_MS = 400;
const POLL_MS = 10_000;
const RETRY_MS = 5_000;
const KINDS = ["schedule", "job", "duty"];

/** @type {Set<(hint: Hint) => void>} */
const listeners = new Set();
/** @type {Set<(state: LiveState) => void>} */
const watchers = new Set();

/** @typedef {"live"|"paused"|"lost"} LiveState */
/** @type {LiveState} */
let state = "lost";
let source = null;
let lastHeard = 0;

/** Begin to listen, or stop: what is shown stays as it is then. */
export function setLive(wanted) {
  source?.close();
  source = null;
  setState(wanted ? "lost" : "paused");
  if (!wanted) return;
  const own = (source = new EventSource(url("/stream")));
  source.onopen = () => heard();
  source.onerror = () => {
    setState("lost");
    // A refusal ends it for good; what merely broke off comes again by itself.
    if (own.readyState === EventSource.CLOSED) setTimeout(() => own === source && setLive(true), RETRY_MS);
  };
  source.addEventListener("reset", () => announce({ kind: "reset", id: "" }));
  source.addEventListener("ping", heard);
  for (const kind of KINDS) {
    source.addEventListener(`${kind}.changed`, (event) => announce({ kind, id: JSON.parse(event.data).id }));
  }
}

/** A browser has six connections to a host: a tab that nobody sees gives its own back, and reads all anew later. */
export function followVisibility(wanted) {
  document.addEventListener("visibilitychange", () => {
    if (!wanted()) return;
    if (!document.hidden) return setLive(true);
    source?.close();
    source = null;
    setState("lost");
  });
}

/** When the stream was heard last, by `performance.now()`. */
export const lastHeardAt = () => lastHeard;

/** @returns {LiveState} */
export function useLive() {
  const [now, setNow] = useState(state);
  useEffect(() => {
    watchers.add(setNow);
    setNow(state);
    return () => watchers.delete(setNow);
  }, []);
  return now;
}

/**
 * Read a path, and again when what it shows has changed.
 *
 * @template T
 * @param {string|null} path null for nothing yet
 * @param {Record<string, any>} [params]
 * @param {{heeds?: (hint: Hint, data: T|null) => boolean, every?: number, always?: boolean}} [options]
 *   `heeds`: whether a hint concerns it; all do unless told. `every`: ms between reads without any hint. `always`: also while views are held.
 * @returns {{data: T|null, problem: Problem|null, loading: boolean, reload: () => Promise<void>}}
 */
export function useRead(path, params = {}, options = {}) {
  const [found, setFound] = useState({ key: "", data: null, problem: null });
  const key = path === null ? "" : url(path, params);
  const latest = useRef({ key, data: null, heeds: options.heeds });
  latest.current.key = key;
  latest.current.heeds = options.heeds;

  const reload = useCallback(async () => {
    if (path === null) return;
    try {
      const data = await get(path, params);
      if (latest.current.key !== key) return; // the view has moved on while the answer was under way
      latest.current.data = data;
      setFound({ key, data, problem: null });
    } catch (problem) {
      if (latest.current.key === key) setFound((before) => ({ key, data: before.key === key ? before.data : null, problem }));
    }
  }, [key]);

  useEffect(() => {
    let waiting = null;
    const soon = () => {
      waiting ??= setTimeout(() => {
        waiting = null;
        reload();
      }, GATHER_MS);
    };
    const heed = (hint) => {
      const { heeds, data } = latest.current;
      if (hint.kind === "reset" || !heeds || heeds(hint, data)) soon();
    };
    reload();
    listeners.add(heed);
    const polls = () => (options.always || state !== "paused") && !document.hidden;
    const poll = setInterval(() => polls() && reload(), options.every ?? POLL_MS);
    return () => {
      listeners.delete(heed);
      clearTimeout(waiting);
      clearInterval(poll);
    };
  }, [reload]);

  const current = found.key === key;
  return { data: current ? found.data : null, problem: current ? found.problem : null, loading: !current, reload };
}

/** Have every view read anew, as after something was done. */
export function refresh() {
  for (const listener of listeners) listener({ kind: "reset", id: "" });
}

function heard() {
  lastHeard = performance.now();
  setState("live");
}

function announce(hint) {
  heard();
  for (const listener of listeners) listener(hint);
}

function setState(next) {
  if (state === next) return;
  state = next;
  for (const watcher of watchers) watcher(next);
}
