/** Gaps: ranges of ticks that did not run, and why. What is in none of them ran, or was made up for. */

import { segment } from "../app/api.js";
import { html } from "../app/dom.js";
import { useRead } from "../app/live.js";
import { useMayWrite } from "../app/may.js";
import { linkTo, setParams } from "../app/route.js";
import { counted } from "../app/words.js";
import { Badge, Empty, Found, Pager } from "../ui/parts.js";
import { makeUp } from "./backfill.js";
import { useClock, useZoneName } from "./fields.js";

/** @param {{id: string, zone: string, schedule: any, params: URLSearchParams}} props `schedule` is null when it is gone */
export function Gaps({ id, zone, schedule, params }) {
  const asked = { limit: 30, cursor: params.get("cursor") ?? "" };
  const read = useRead(`/periodic/${segment(id)}/gaps`, asked, { heeds: (hint) => hint.kind === "schedule" && hint.id === id });
  const mayMakeUp = useMayWrite() && schedule !== null;
  return html`
    ${mayMakeUp && html`<div class="filters"><button onClick=${() => makeUp({ id, zone })}>Backfill a range…</button></div>`}
    <${Found} read=${read}>${(page) => html`
      ${page.gaps.length ? html`<${Table} id=${id} zone=${zone} gaps=${page.gaps} spec=${schedule?.spec} mayMakeUp=${mayMakeUp} />`
        : html`<${Empty} title="No gap">Every tick that is known of ran. Ticks that do not, because of a pause, say, or since nobody
          scheduled, are listed here as ranges, and can be made up for.<//>`}
      <${Pager} next=${page.next_cursor} first=${params.get("cursor")} onFirst=${() => setParams({ cursor: "" })}
        onNext=${() => setParams({ cursor: page.next_cursor })} />
    `}<//>`;
}

function Table({ id, zone, gaps, spec, mayMakeUp }) {
  const instant = useClock(zone);
  const name = useZoneName(zone);
  const [from, until] = [`From (${name})`, `Until (${name})`];
  const tick = (ms) => html`<a href=${linkTo("schedules", id, { tab: "explain", tick: ms })} title="explain this tick">${instant(ms)}</a>`;
  return html`<div class="scroll"><table class="rows">
    <caption class="hidden">${counted(gaps.length, "gap")}, oldest first</caption>
    <thead><tr><th scope="col">${from}</th><th scope="col">${until}</th><th scope="col">Ticks</th><th scope="col">Why</th>
      <th scope="col">Spec</th>${mayMakeUp && html`<th scope="col"><span class="hidden">Actions</span></th>`}</tr></thead>
    <tbody>${gaps.map((gap) => html`<tr key=${gap.from_ms} data-row tabindex="-1">
      <td data-label=${from} class="main tick">${tick(gap.from_ms)}</td>
      <td data-label=${until} class="tick">${tick(gap.until_ms)}</td>
      <td data-label="Ticks">${gap.count === null ? html`<span class="dim">not known</span>` : counted(gap.count, "tick")}</td>
      <td data-label="Why"><${Badge} sign="○" word=${gap.reason.replaceAll("_", " ")} tone="warn" /></td>
      <td data-label="Spec"><code>${gap.spec}</code>${gap.spec !== spec && spec && html` <span class="dim">an earlier one</span>`}</td>
      ${mayMakeUp && html`<td><div class="actions-of"><button class="plain" aria-label=${`Backfill the gap from ${instant(gap.from_ms)}`}
        onClick=${() => makeUp({ id, zone, fromMs: gap.from_ms, untilMs: gap.until_ms })}>Backfill…</button></div></td>`}
    </tr>`)}</tbody>
  </table></div>`;
}
