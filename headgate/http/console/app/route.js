/**
 * Where the page is: all of it behind the `#`, so that any path prefix will do and every view can be sent to somebody.
 *
 * `#/schedules?paused=true`, `#/schedules/digest?tab=trail`.
 *
 * @typedef {{page: string, id: string|null, params: URLSearchParams}} Route
 */

import { useEffect, useState } from "./dom.js";

/** @returns {Route} */
export function readRoute(hash = location.hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [page = "", ...rest] = path.split("/");
  return { page: page || "schedules", id: rest.length ? decode(rest.join("/")) : null, params: new URLSearchParams(query) };
}

/** The link to a view. Parameters that are empty are left out. */
export function linkTo(page, id = null, params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value) query.set(name, String(value));
  const text = query.toString();
  return `#/${page}${id === null ? "" : `/${encodeURIComponent(id)}`}${text && `?${text}`}`;
}

export function go(page, id = null, params = {}) {
  location.hash = linkTo(page, id, params);
}

/** Change parameters of this view, without a step of the browser's history for each key that is typed. */
export function setParams(changes) {
  const { page, id, params } = readRoute();
  const next = Object.fromEntries(params);
  Object.assign(next, changes);
  history.replaceState(null, "", linkTo(page, id, next));
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** @returns {Route} */
export function useRoute() {
  const [route, setRoute] = useState(readRoute());
  useEffect(() => {
    const read = () => setRoute(readRoute());
    addEventListener("hashchange", read);
    return () => removeEventListener("hashchange", read);
  }, []);
  return route;
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
