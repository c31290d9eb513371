/**
 * JSON whose numbers stay as they are written. A payload may hold what a browser's numbers cannot: an id of twenty digits,
 * a `1.0`. Who opens the form and saves it again must not have changed them.
 */

import { get, url } from "../app/api.js";

/** Read JSON; a number that would be written otherwise is kept as its text. Throws a SyntaxError. */
export function parseExact(text) {
  return JSON.parse(text, (_name, value, context) => {
    if (typeof value !== "number" || !context?.source || String(value) === context.source) return value;
    return JSON.rawJSON(context.source);
  });
}

/** As `get`, with exact numbers. */
export async function getExact(path) {
  const answer = await fetch(url(path), { credentials: "same-origin" }).catch(() => null);
  return answer?.ok ? parseExact(await answer.text()) : get(path); // which says what is wrong
}
