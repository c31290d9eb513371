/** Small pieces that every page uses. */

import { Problem, storeNow } from "../app/api.js";
import { html } from "../app/dom.js";
import { usePref } from "../app/prefs.js";
import { clock, fromNow, useNow, zoneName } from "../app/time.js";
import { JOB_STATES, OUTCOMES, outcomeOf } from "../app/words.js";

/** An instant: relative, with the absolute one beside or on hover. `zone` is the schedule's, for who wants that clock. */
export function Instant({ ms, zone = "UTC", both = false }) {
  const choice = usePref("clock");
  useNow(ms !== null && Math.abs(ms - storeNow()) < 120_000 ? 1_000 : 10_000);
  if (ms === null || ms === undefined) return html`<span class="dim">—</span>`;
  const own = choice === "schedule" ? zone : choice === "utc" ? "UTC" : "local";
  const text = clock(ms, own);
  const title = `${text} ${zoneName(own)}`;
  return html`<time datetime=${new Date(ms).toISOString()} title=${title}>
    ${both ? html`${text} <span class="dim">${fromNow(ms)}</span>` : fromNow(ms)}
  </time>`;
}

/** A sign and a word, in a tone; the sign alone says nothing, and the colour even less. */
export const Badge = ({ sign, word, tone }) => html`<span class=${`badge ${tone}`}><span aria-hidden="true">${sign}</span> ${word}</span>`;

export function Outcome({ outcome, reason }) {
  const [word, sign, tone] = outcomeOf(outcome);
  return html`<${Badge} sign=${sign} word=${reason && reason !== "accepted" ? `${word} · ${reason}` : word} tone=${tone} />`;
}

export function JobState({ state }) {
  const [sign, tone] = JOB_STATES[state] ?? ["?", "calm"];
  return html`<${Badge} sign=${sign} word=${state} tone=${tone} />`;
}

/** The last outcomes, newest last, one bar each; in words for who cannot see them. */
export function Sparkline({ outcomes }) {
  if (!outcomes) return html`<span class="dim">no tick yet</span>`;
  const counts = Object.entries(OUTCOMES)
    .map(([letter, [word]]) => [outcomes.split(letter).length - 1, word])
    .filter(([count]) => count);
  const label = `last ${outcomes.length} ticks: ${counts.map(([count, word]) => `${count} ${word}`).join(", ")}`;
  const width = outcomes.length * 5;
  return html`<svg class="spark" role="img" aria-label=${label} width=${width} height="16" viewBox=${`0 0 ${width} 16`}>
    <title>${label}</title>
    ${Array.from(outcomes, (letter, place) => {
      const tall = letter === "e" ? 14 : letter === "f" ? 14 : 8;
      return html`<rect class=${(OUTCOMES[letter] ?? ["", "", "calm"])[2]} x=${place * 5} y=${16 - tall} width="4" height=${tall} rx="1" />`;
    })}
  </svg>`;
}

/** What went wrong, with what an operator can look up. */
export function ProblemNote({ problem, retry }) {
  if (!problem) return null;
  const told = problem instanceof Problem ? problem : new Problem({ code: "page_error", status: 0, detail: String(problem) });
  return html`<div class="note bad" role="alert">
    <p><strong>${told.message}</strong></p>
    <p class="dim"><code>${told.code}</code>${told.field && html` · field <code>${told.field}</code>`}
      ${told.requestId && html` · request <code>${told.requestId}</code>`}</p>
    ${retry && html`<button onClick=${retry}>Try again</button>`}
  </div>`;
}

/** A list without entries says what would be in it, and how that comes about. */
export const Empty = ({ title, children }) => html`<div class="empty"><h2>${title}</h2><p>${children}</p></div>`;

export const Loading = () => html`<p class="dim loading" role="status">Loading…</p>`;

/** What a read has found: the body once there is one, the problem above it, and what it is like before. */
export function Found({ read, children }) {
  const { data, problem, reload } = read;
  return html`<${ProblemNote} problem=${problem} retry=${reload} />${data ? children(data) : problem ? null : html`<${Loading} />`}`;
}

/** Steps through the pages of a list. The way back is the browser's own. */
export function Pager({ next, first, onNext, onFirst }) {
  if (!next && !first) return null;
  return html`<nav class="pager" aria-label="pages of the list">
    <button disabled=${!first} onClick=${onFirst}>First page</button>
    <button disabled=${!next} onClick=${onNext}>Next page</button>
  </nav>`;
}

/** Names and values, one below the other. */
export const Facts = ({ facts }) => html`<dl class="facts">
  ${facts.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
</dl>`;
