/** The enqueue trail: what became of each tick, newest first. Of a schedule, the newest 100 are kept. */

import { segment, storeNow } from "../app/api.js";
import { html } from "../app/dom.js";
import { useRead } from "../app/live.js";
import { linkTo, setParams } from "../app/route.js";
import { span } from "../app/time.js";
import { counted, OUTCOMES } from "../app/words.js";
import { Empty, Found, Instant, JobState, Outcome, Pager } from "../ui/parts.js";
import { useClock, useZoneName } from "./fields.js";

const SIZE = 30;
const KEPT = 100;
/** The trail and the jobs are read one after the other: a job that is younger may be missing for that alone. */
const APART_MS = 5_000;

/** @param {{id: string, zone: string, params: URLSearchParams, jobs: any[]|null}} props `jobs` of its latest ticks, null while not known */
export function Trail({ id, zone, params, jobs }) {
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
      <${Events} id=${id} zone=${zone} jobs=${jobs} events=${page.events.filter((event) => !only || event.outcome === only)} only=${only} />
      ${!only && html`<${Pager} next=${page.next_cursor} first=${params.get("cursor")} onFirst=${() => setParams({ cursor: "" })}
        onNext=${() => setParams({ cursor: page.next_cursor })} />`}
    `}<//>`;
}

function Events({ id, zone, jobs, events, only }) {
  const tick = `Tick (${useZoneName(zone)})`;
  if (!events.length && only) return html`<${Empty} title=${`None that is ${only}`}>None of the ${KEPT} newest ticks ended so.<//>`;
  if (!events.length) {
    return html`<${Empty} title="No tick on record">Each tick leaves an entry here: whether it became a job, when, and if not, why not.<//>`;
  }
  const states = jobs && new Map(jobs.map((job) => [job.id, job.state]));
  const passed = events.some((event) => event.discarded || event.outcome === "skipped");
  return html`
  ${passed && html`<p class="dim">What was skipped or passed over may have been made up for since.
    ${" "}<a href=${linkTo("schedules", id, { tab: "gaps" })}>See Gaps for what is still open.</a></p>`}
  <div class="scroll"><table class="rows">
    <caption class="hidden">${counted(events.length, "tick")} of the trail</caption>
    <thead><tr><th scope="col">${tick}</th><th scope="col">Outcome</th><th scope="col">Late</th><th scope="col">Recorded</th>
      <th scope="col">Attempts</th><th scope="col">Passed over</th><th scope="col">Job</th></tr></thead>
    <tbody>${events.map((event) => html`<${Row} key=${event.event_id} id=${id} zone=${zone} event=${event} states=${states} tick=${tick} />`)}</tbody>
  </table></div>`;
}

function Row({ id, zone, event, states, tick }) {
  const instant = useClock(zone);
  const unmarked = (news) => (news ? "" : "unmarked");
  return html`<tr data-row tabindex="-1">
    <td data-label=${tick} class="main tick"><a href=${linkTo("schedules", id, { tab: "explain", tick: event.tick_ms })}
      title="explain this tick">${instant(event.tick_ms)}</a></td>
    <td data-label="Outcome"><${Outcome} outcome=${event.outcome} reason=${event.reason} /></td>
    <td data-label="Late">${span(Math.max(0, event.recorded_at_ms - event.tick_ms))}</td>
    <td data-label="Recorded"><${Instant} ms=${event.recorded_at_ms} zone=${zone} /></td>
    <td data-label="Attempts" class=${unmarked(event.attempts > 1)}>${event.attempts}${event.first_attempt_ms !== null && html`
      <span class="dim"> since ${instant(event.first_attempt_ms)}</span>`}</td>
    <td data-label="Passed over" class=${unmarked(event.discarded)}>${event.discarded
      ? `${instant(event.discarded.from_ms)} – ${instant(event.discarded.until_ms)}` : html`<span class="dim">—</span>`}</td>
    <td data-label="Job" class=${unmarked(event.job_id)}><${JobLink} event=${event} states=${states} /></td>
  </tr>`;
}

/** A tick's own job is named after it; one that stood in the way is named here. */
function JobLink({ event, states }) {
  if (!event.job_id) return html`<span class="dim">—</span>`;
  const own = event.job_id === `sched-${event.schedule_id}-${event.tick_ms}`;
  const state = states?.get(event.job_id);
  const removed = own && states && !state && event.recorded_at_ms < storeNow() - APART_MS;
  return html`<a href=${linkTo("jobs", event.job_id)} title=${event.job_id}>${own ? "its job" : event.job_id}</a>
    ${state && html` <${JobState} state=${state} />`}${removed && html` <span class="dim">removed</span>`}`;
}
