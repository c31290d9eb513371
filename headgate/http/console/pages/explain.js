/** Explain this tick: did it run, and why not? In the server's sentence, its code, and the facts behind it. */

import { segment } from "../app/api.js";
import { html, useState } from "../app/dom.js";
import { useRead } from "../app/live.js";
import { linkTo, setParams } from "../app/route.js";
import { clock, span, zoneName } from "../app/time.js";
import { POLICIES } from "../app/words.js";
import { Empty, Facts, Found, JobState } from "../ui/parts.js";
import { Field } from "../ui/dialog.js";
import { useZone } from "./fields.js";
import { InstantInput } from "./instants.js";

export function Explain({ id, zone, params }) {
  const tick = /^\d{1,15}$/.test(params.get("tick") ?? "") ? Number(params.get("tick")) : null;
  const switched = useZone(zone);
  const [chosen, setChosen] = useState(null);
  const clockOf = chosen ?? switched;
  const path = tick === null ? null : `/periodic/${segment(id)}/explain`;
  const read = useRead(path, { tick_ms: tick }, { heeds: (hint) => hint.kind === "schedule" && hint.id === id });
  return html`<${Which} tick=${tick} zone=${zone} chosen=${clockOf} choose=${setChosen} />
    ${tick === null ? html`<${Empty} title="Which tick?">
      Name an instant, or follow one of the trail or of a gap: whether it ran is told, and
      if not, why not. It need not be a tick.<//>`
      : html`<${Found} read=${read}>${(told) => html`<${Answer} id=${id} zone=${clockOf} told=${told} />`}<//>`}`;
}

function Which({ tick, zone, chosen, choose }) {
  const own = zone || "UTC";
  const zones = Array.from(new Set([own, "UTC", "local"]));
  return html`<form class="columns" onSubmit=${(event) => event.preventDefault()}>
    <${Field} label="Instant"><${InstantInput} name="tick" ms=${tick} zone=${chosen} onChange=${(ms) => setParams({ tick: ms ?? "" })} /><//>
    <${Field} label="On the clock of"><select name="zone" value=${chosen} onChange=${(event) => choose(event.target.value)}>
      ${zones.map((each) => html`<option value=${each}>${each === "local" ? `here (${zoneName("local")})` : each}</option>`)}
    </select><//>
  </form>`;
}

/** All its instants are on one clock, that of `zone`. */
function Answer({ id, zone, told }) {
  const instant = (ms) => clock(ms, zone);
  const tick = (ms) => ms === null ? null : html`<a href=${linkTo("schedules", id, { tab: "explain", tick: ms })}>${instant(ms)}</a>`;
  const at = (ms) => (ms === null ? null : instant(ms));
  return html`<div class="card told">
    <div aria-live="polite"><h2>${told.sentence}</h2></div>
    <p><code>${told.code}</code>${told.deleted && html` · <span class="bad">the schedule is deleted</span>`}
      <span class="dim"> · times in ${zoneName(zone)}</span></p>
    <${Facts} facts=${[
      ["Tick", instant(told.tick_ms)],
      ["Outcome", told.outcome && (told.reason && told.reason !== "accepted" ? `${told.outcome} · ${told.reason}` : told.outcome)],
      ["Reason", told.outcome ? null : told.reason],
      ["Job", told.job_id && html`<a href=${linkTo("jobs", told.job_id)}>${told.job_id}</a>`],
      ["State of the job", told.job_state && html`<${JobState} state=${told.job_state} />`],
      ["In that state since", at(told.job_at_ms)],
      ["Recorded", at(told.recorded_at_ms)],
      ["Event number", told.event_id],
      ["Attempts", told.attempts],
      ["Tried next", at(told.retry_at_ms)],
      ["Due", told.due_in_ms === null ? null : told.due_in_ms < 0 ? `${span(-told.due_in_ms)} ago` : `in ${span(told.due_in_ms)}`],
      ["The same holds for", told.range && html`${tick(told.range.from_ms)} – ${tick(told.range.until_ms)}`],
      ["Other tick", tick(told.other_tick_ms)],
      ["Tick before", tick(told.before_ms)],
      ["Tick after", tick(told.after_ms)],
      ["Time that was skipped", told.wall?.replace("T", " ")],
      ["Policy", told.policy && (POLICIES[told.policy]?.[0] ?? told.policy)],
      ["Who", told.by],
      ["Reason given", told.why],
      ["Since", at(told.since_ms)],
      ["Until", at(told.until_ms)],
      ["Spec", told.spec && html`<code>${told.spec}</code>${told.earlier_spec ? " (an earlier one)" : ""}`],
      ["Answer as of", instant(told.store_time_ms)],
    ]} />
  </div>`;
}
