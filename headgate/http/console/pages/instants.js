/** Instants that people type: on the clock of a zone. */

import { html, useEffect, useRef, useState } from "../app/dom.js";
import { clock } from "../app/time.js";

const DAY_MS = 86_400_000;

/** What `<input type="datetime-local">` takes, for an instant; "" for none. */
export const toInput = (ms, zone) => (ms === null ? "" : clock(ms, zone).replace(" ", "T"));

/**
 * The instant at which the clock of a zone shows this; null for none. Of a time that it shows twice the first, and one
 * that it skips is read as if it had not been changed yet.
 */
export function instantOf(text, zone) {
  const wall = Date.parse(`${text}Z`);
  if (Number.isNaN(wall)) return null;
  const ahead = (ms) => Date.parse(`${toInput(ms, zone)}Z`) - ms;
  const before = wall - ahead(wall - DAY_MS);
  const found = [before, wall - ahead(wall + DAY_MS)].filter((ms) => ms + ahead(ms) === wall);
  return found.length ? Math.min(...found) : before;
}

/** Text stays as it is typed; `onChange` is told the instant, or null. An instant that is set from elsewhere is shown. */
export function InstantInput({ ms, zone = "local", onChange, ...rest }) {
  const [text, setText] = useState(toInput(ms, zone));
  const shown = useRef({ ms, zone });
  useEffect(() => {
    if (shown.current.ms === ms && shown.current.zone === zone) return;
    shown.current = { ms, zone };
    setText(toInput(ms, zone));
  }, [ms, zone]);
  const onInput = (event) => {
    const next = instantOf(event.target.value, zone);
    shown.current = { ms: next, zone };
    setText(event.target.value);
    onChange(next);
  };
  return html`<input type="datetime-local" step="any" ...${rest} value=${text} onInput=${onInput} />`;
}
