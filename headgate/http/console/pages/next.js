/** Upcoming ticks, on three clocks: the schedule's, UTC and the viewer's. The server says where a clock change took some. */

import { segment } from "../app/api.js";
import { html } from "../app/dom.js";
import { useRead } from "../app/live.js";
import { setParams } from "../app/route.js";
import { clock, fromNow, useNow, zoneName } from "../app/time.js";
import { counted } from "../app/words.js";
import { Empty, Found, Instant } from "../ui/parts.js";

const MARKS = {
  skipped: "A clock change never showed the time of ticks before this one: they are left out.",
  merged: "A clock change showed the time of ticks before this one twice: each runs once.",
};
const NUMBERS = ["10", "30", "100"];

export function Next({ id, params }) {
  const n = NUMBERS.includes(params.get("n")) ? params.get("n") : NUMBERS[0];
  const read = useRead(`/periodic/${segment(id)}/upcoming`, { n }, { heeds: (hint) => hint.kind === "schedule" && hint.id === id });
  return html`
    <div class="filters"><select aria-label="how many" value=${n} onChange=${(event) => setParams({ n: event.target.value })}>
      ${NUMBERS.map((each) => html`<option value=${each}>the next ${each}</option>`)}</select></div>
    <${Found} read=${read}>${(next) => html`
    ${next.reason === "paused" && next.ticks.length > 0 && html`<div class="note warn"><p>It is paused
      until <${Instant} ms=${next.paused_until_ms} zone=${next.zone} both />: these are the ticks after that.</p></div>`}
    <${Warnings} warnings=${next.warnings} />
    ${next.ticks.length ? html`<${Ticks} ticks=${next.ticks} zone=${next.zone} />` : html`<${None} reason=${next.reason} />`}
  `}<//>`;
}

/** What may surprise about a spec. */
export const Warnings = ({ warnings }) => html`${warnings.map((each) => html`<div class="note warn" key=${each.code}>
  <p><span class="warn" aria-hidden="true">⚠</span> ${each.message}</p></div>`)}`;

function None({ reason }) {
  if (reason === "paused") return html`<${Empty} title="Nothing while it is paused">It fires again once somebody resumes it.<//>`;
  return html`<${Empty} title="No further tick">Its spec or its end leaves none. A new spec, or a later end, gives it some.<//>`;
}

/** @param {{ticks: {tick_ms: number, utc: string, local: string, mark: string|null}[], zone: string}} props */
export function Ticks({ ticks, zone }) {
  const now = useNow(1_000);
  const own = zone || "UTC";
  const here = zoneName("local");
  return html`<div class="scroll"><table class="rows">
    <caption class="hidden">${counted(ticks.length, "upcoming tick")}</caption>
    <thead><tr>
      <th scope="col">In ${own}</th>${own !== "UTC" && html`<th scope="col">In UTC</th>`}
      ${here !== own && here !== "UTC" && html`<th scope="col">Here, in ${here}</th>`}
      <th scope="col">From now</th><th scope="col">Clock changes</th>
    </tr></thead>
    <tbody>${ticks.map((tick) => html`<tr key=${tick.tick_ms} data-row tabindex="-1">
      <td data-label=${`In ${own}`}><time datetime=${tick.utc}>${spaced(tick.local)}</time></td>
      ${own !== "UTC" && html`<td data-label="In UTC">${spaced(tick.utc)}</td>`}
      ${here !== own && here !== "UTC" && html`<td data-label=${`In ${here}`}>${clock(tick.tick_ms, "local")}</td>`}
      <td data-label="From now">${fromNow(tick.tick_ms, now)}</td>
      <td data-label="Clock changes" class=${tick.mark ? "" : "unmarked"}><${Mark} mark=${tick.mark} /></td>
    </tr>`)}</tbody>
  </table></div>`;
}

function Mark({ mark }) {
  if (mark === null) return html`<span class="dim">—</span>`;
  return html`<span class="warn"><span aria-hidden="true">⚠</span> ${MARKS[mark] ?? mark}</span>`;
}

/** ISO 8601 for people: the offset stays, since it tells the two hours of a clock change apart. */
const spaced = (iso) => iso.replace("T", " ").replace(/(\+00:00|Z)$/, "").replace(/([+-]\d\d:\d\d)$/, " $1");
