/** What a spec means while it is typed: its sentence, its warnings and its next ticks, as the server says them. */

import { call, storeNow } from "../app/api.js";
import { html, useEffect, useState } from "../app/dom.js";
import { Ticks, Warnings } from "./next.js";

const PAUSE_MS = 300;
/** The list is read anew once its first tick has passed: no more often than this, and at times anyway, as no timer holds a year. */
const [SOONEST_MS, LATEST_MS] = [1_000, 3_600_000];

/**
 * @param {any} definition the body of a PUT, as far as it can be read
 * @returns {{preview: any, problem: import("../app/api.js").Problem|null}} of the latest text alone
 */
export function usePreview({ spec, starts_at_ms = null, ends_at_ms = null, jitter_ms = 0 }) {
  const [found, setFound] = useState({ preview: null, problem: null });
  useEffect(() => {
    const ended = new AbortController();
    let timer = null;
    const look = async () => {
      try {
        const body = { spec, starts_at_ms, ends_at_ms, jitter_ms };
        const preview = await call("POST", "/specs/preview", { body, signal: ended.signal });
        if (ended.signal.aborted) return;
        setFound({ preview, problem: null });
        const [first] = preview.ticks;
        if (first) timer = setTimeout(look, Math.min(LATEST_MS, Math.max(SOONEST_MS, first.tick_ms - storeNow())));
      } catch (problem) {
        if (!ended.signal.aborted) setFound({ preview: null, problem });
      }
    };
    if (spec.trim()) timer = setTimeout(look, PAUSE_MS);
    else setFound({ preview: null, problem: null });
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [spec, starts_at_ms, ends_at_ms, jitter_ms]);
  return found;
}

export function Preview({ preview }) {
  if (!preview) return null;
  return html`<p role="status"><strong>${preview.description}</strong></p>
    <${Warnings} warnings=${preview.warnings} />
    ${preview.ticks.length ? html`<div class="peek" tabindex="0" role="region" aria-label="next ticks">
        <${Ticks} ticks=${preview.ticks} zone=${preview.zone} /></div>`
      : html`<p class="warn"><span aria-hidden="true">⚠</span> It has no tick to come.</p>`}`;
}
