/**
 * The public control API, and nothing else: paths, problems, and the store's clock.
 *
 * @typedef {{params?: Record<string, string|number|boolean|null|undefined>, body?: unknown,
 *   headers?: Record<string, string>, signal?: AbortSignal}} Options
 */

const root = document.documentElement.dataset.root ?? "";

/** An answer that is no success, as RFC 9457 has it; `code` is what to look at. */
export class Problem extends Error {
  /** @param {{code: string, status: number, detail: string, request_id?: string, field?: string, current?: any}} told */
  constructor(told) {
    super(told.detail);
    this.code = told.code;
    this.status = told.status;
    this.field = told.field ?? null;
    this.requestId = told.request_id ?? null;
    this.current = told.current ?? null;
  }
}

/** @type {Set<(reached: boolean) => void>} */
const watchers = new Set();
let ahead = null;

/** Be told of every answer: whether the server was reached. Returns what ends that. */
export function watchReach(watcher) {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

/** Store time in ms, carried on by this machine's steady clock; its wall clock until the store was heard. */
export function storeNow() {
  return ahead === null ? Date.now() : Math.round(performance.now() + ahead);
}

/** Where a path of the API is, below whatever prefix this page was served. */
export function url(path, params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return `${root}/api/v1${path}${text && `?${text}`}`;
}

/** @param {string} id */
export const segment = (id) => encodeURIComponent(id);

/**
 * Ask. Returns the body of the answer, null where it has none; `answer` in the second place has its headers.
 * @param {string} method @param {string} path @param {Options} [options]
 * @returns {Promise<any>}
 */
export async function call(method, path, options = {}) {
  const headers = { ...options.headers };
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    const body = options.body === undefined ? undefined : JSON.stringify(options.body);
    const signal = options.signal ?? AbortSignal.timeout(20_000);
    answer = await fetch(url(path, options.params), { method, headers, body, signal, credentials: "same-origin" });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    tell(false);
    throw new Problem({ code: "unreachable", status: 0, detail: "The server does not answer." });
  }
  tell(true);
  const time = answer.headers.get("X-Headgate-Store-Time");
  if (time !== null) ahead = Number(time) - performance.now();
  const text = await answer.text();
  if (answer.ok) return text ? JSON.parse(text) : null;
  throw new Problem(readProblem(answer, text));
}

export const get = (path, params, signal) => call("GET", path, { params, signal });

/** A key that makes the repeat of a request harmless. Made when a dialog opens, so that a double click is one request. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function tell(reached) {
  for (const watcher of watchers) watcher(reached);
}

function readProblem(answer, text) {
  try {
    const told = JSON.parse(text);
    if (told.code) return told;
  } catch {
    // a proxy's page, say
  }
  return { code: `http_${answer.status}`, status: answer.status, detail: answer.statusText || "The request failed." };
}
