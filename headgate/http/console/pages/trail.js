/** The enqueue trail: what became of each tick, newest first. Of a schedule, the newest 100 are kept. */

import { segment } from "../app/api.js";
import { html } from "../app/dom.js";
import { useRead } from "../app/live.js";
import { linkTo, setParams } from "../app/route.js";
import { span } from "../app/time.js";
import { counted, OUTCOMES } from "../app/words.js";
import { Empty, Found, Instant, Outcome, Pager } from "../ui/parts.js";
import { useClock } from "./fields.js";

const SIZE = 30;
const KEPT = 100;

export function Trail({ id, zone, params }) {
  const only = params.get("outcome") ?? "";
  // All that is kept fits one read: a choice among it misses none.
  const asked = only ? { limit: KEPT } : { limit: SIZE, cursor: params.get("cursor") ?? "" };
  const read = useRead(`/periodic/${segment(id)}/enqueue-events`, asked, { heeds: (hint) => hint.kind === "schedule" && hint.id === id });
  return html`
    <div class="filters"><select aria-label="outcome" value=${only} onChange=${(event) => setParams({ outcome: event.target.value, cursor: "" })}>
      <option value="">any outcome</option>
      ${Object.values(OUTCOMES).map(([word]) => html`<option value=${word}>${word}</option>`)}
    </select></div>
    <${Found} read=${read}>${(page) => html`
      <${Events} id=${id} zone=${zone} events=${page.events.filter((event) => !only || event.outcome === only)} only=${only} />
      ${!only && html`<${Pager} next=${page.next_cursor} first=${params.get("cursor")} onFirst=${() => setParams({ cursor: "" })}
        onNext=${() => setParams({ cursor: page.next_cursor })} />`}
    `}<//>`;
}

function Events({ id, zone, events, only }) {
  if (!events.length && only) return html`<${Empty} title=${`None that is ${only}`}>None of the ${KEPT} newest ticks ended so.<//>`;
  if (!events.length) {
    return html`<${Empty} title="No tick on record">Each tick leaves an entry here: whether it became a job, when, and if not, why not.<//>`;
  }
  return html`<div class="scroll"><table class="rows">
    <caption class="hidden">${counted(events.length, "tick")} of the trail</caption>
    <thead><tr><th scope="col">Tick</th><th scope="col">Outcome</th><th scope="col">Late</th><th scope="col">Recorded</th>
      <th scope="col">Attempts</th><th scope="col">Passed over</th><th scope="col">Job</th></tr></thead>
    <tbody>${events.map((event) => html`<${Row} key=${event.event_id} id=${id} zone=${zone} event=${event} />`)}</tbody>
  </table></div>`;
}

function Row({ id, zone, event }) {
  const instant = useClock(zone);
  return html`<tr data-row tabindex="-1">
    <td data-label="Tick" class="main tick"><a href=${linkTo("schedules", id, { tab: "explain", tick: event.tick_ms })}
      title="explain this tick">${instant(event.tick_ms)}</a></td>
    <td data-label="Outcome"><${Outcome} outcome=${event.outcome} reason=${event.reason} /></td>
    <td data-label="Late">${span(Math.max(0, event.recorded_at_ms - event.tick_ms))}</td>
    <td data-label="Recorded"><${Instant} ms=${event.recorded_at_ms} zone=${zone} /></td>
    <td data-label="Attempts">${event.attempts}${event.first_attempt_ms !== null && html`
      <span class="dim"> since ${instant(event.first_attempt_ms)}</span>`}</td>
    <td data-label="Passed over">${event.discarded
      ? `${instant(event.discarded.from_ms)} – ${instant(event.discarded.until_ms)}` : html`<span class="dim">none</span>`}</td>
    <td data-label="Job"><${JobLink} event=${event} /></td>
  </tr>`;
}

/** A tick's own job is named after it; one that stood in the way is named here. */
function JobLink({ event }) {
  if (!event.job_id) return html`<span class="dim">none</span>`;
  const own = event.job_id === `sched-${event.schedule_id}-${event.tick_ms}`;
  return html`<a href=${linkTo("jobs", event.job_id)} title=${event.job_id}>${own ? "its job" : event.job_id}</a>`;
}
