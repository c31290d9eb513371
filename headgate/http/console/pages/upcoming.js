/** What fires next, of all schedules together: minute by minute, and no further than that is complete. */

import { storeNow } from "../app/api.js";
import { html, useRef, useState } from "../app/dom.js";
import { useRead } from "../app/live.js";
import { usePref } from "../app/prefs.js";
import { linkTo, setParams } from "../app/route.js";
import { clock, fromNow, useNow, zoneName } from "../app/time.js";
import { counted } from "../app/words.js";
import { Bar } from "../ui/bar.js";
import { Badge, Empty, Instant, Loading, ProblemNote } from "../ui/parts.js";

const MINUTE_MS = 60_000;
const HORIZONS = [
  ["10m", "10 minutes", 10 * MINUTE_MS],
  ["1h", "1 hour", 60 * MINUTE_MS],
  ["6h", "6 hours", 360 * MINUTE_MS],
  ["24h", "24 hours", 1_440 * MINUTE_MS],
];
/** Minutes that are shown before somebody asks for all, schedules and herds that are named. */
const [SHOWN, NAMED, HERDS] = [120, 6, 5];
/** A hint about a schedule so close to its tick says that it fired, which the list knew before. */
const FIRING_MS = 5_000;

export function Upcoming({ route }) {
  const [within, words, span] = HORIZONS.find(([name]) => name === route.params.get("within")) ?? HORIZONS[1];
  const now = useNow(2_000);
  const until = Math.ceil((now + span) / MINUTE_MS) * MINUTE_MS;
  const read = useRead("/upcoming", { until_ms: until }, { heeds: (hint, data) => hint.kind === "schedule" && !fires(data, hint.id) });
  const data = useKept(read.data, within);
  return html`<section>
    <div class="heading"><h1>Upcoming</h1>
      <label>Within <select value=${within} onChange=${(event) => setParams({ within: event.target.value })}>
        ${HORIZONS.map(([name, text]) => html`<option value=${name} selected=${name === within}>${text}</option>`)}
      </select></label>
    </div>
    <${ProblemNote} problem=${read.problem} retry=${read.reload} />
    ${data ? html`<${Ticks} data=${data} now=${now} words=${words} />` : !read.problem && html`<${Loading} />`}
  </section>`;
}

/** The horizon moves on each minute: until the next answer is there, the last one of this view stays. */
function useKept(data, view) {
  const kept = useRef({ view, data: null });
  if (data) kept.current = { view, data };
  return kept.current.view === view ? kept.current.data : null;
}

function fires(data, id) {
  const now = storeNow();
  return data?.instants.some((each) => Math.abs(each.tick_ms - now) < FIRING_MS && each.schedule_ids.includes(id));
}

function Ticks({ data, now, words }) {
  const [all, setAll] = useState(false);
  const minutes = byMinute(data.instants.filter((each) => each.tick_ms > now));
  const cut = data.complete_until_ms < data.until_ms;
  const ticks = minutes.reduce((sum, each) => sum + each.ticks, 0);
  const most = minutes.reduce((highest, each) => Math.max(highest, each.ticks), 0);
  const shown = all ? minutes : minutes.slice(0, SHOWN);
  return html`
    <p class="lead">${counted(ticks, "tick")} in ${counted(minutes.length, "minute")}. A schedule that is paused fires nothing and is not
      among them, unless its pause ends by itself; jobs may run somewhat later where a schedule has a jitter.</p>
    <${Herds} minutes=${minutes} />
    ${cut && html`<div class="note warn" role="note"><p><strong>Complete up to <${Instant} ms=${data.complete_until_ms} both /> only.</strong></p>
      <p class="dim">One answer holds 1,000 ticks, and there are more. What fires later within ${words} is not listed;
        each schedule's own page tells of it.</p></div>`}
    ${minutes.length ? html`<${Table} minutes=${shown} most=${most} />` : html`<${Nothing} words=${words} cut=${cut} looked=${data.schedules} />`}
    ${shown.length < minutes.length && html`<div class="pager">
      <button onClick=${() => setAll(true)}>Show all ${counted(minutes.length, "minute")}</button></div>`}`;
}

function byMinute(instants) {
  const minutes = new Map();
  for (const instant of instants) {
    const start = instant.tick_ms - (instant.tick_ms % MINUTE_MS);
    if (!minutes.has(start)) minutes.set(start, { start, first: instant.tick_ms, ticks: 0, ids: new Map(), herds: [] });
    const minute = minutes.get(start);
    minute.ticks += instant.count;
    for (const id of instant.schedule_ids) minute.ids.set(id, (minute.ids.get(id) ?? 0) + 1);
    if (instant.herd) minute.herds.push(instant);
  }
  return [...minutes.values()];
}

function Herds({ minutes }) {
  const herds = minutes.flatMap((minute) => minute.herds);
  if (!herds.length) return null;
  return html`<div class="note warn" role="note"><p><strong><span aria-hidden="true">▲</span> ${counted(herds.length, "herd")}: many schedules at
      one instant.</strong> A jitter spreads their jobs, and each tick keeps its time.</p>
    <ul>${herds.slice(0, HERDS).map((each) => html`<li key=${each.tick_ms}>${each.herd} UTC, <${Instant} ms=${each.tick_ms} /></li>`)}
      ${herds.length > HERDS && html`<li class="dim">and ${herds.length - HERDS} more, marked below</li>`}</ul></div>`;
}

function Nothing({ words, cut, looked }) {
  if (cut) return html`<${Empty} title="Nothing up to there">The list begins anew with the next minute.<//>`;
  return html`<${Empty} title=${`Nothing fires within ${words}`}>
    ${looked ? "The next ticks are later: look further ahead." : html`No schedule is due by then. A schedule that is active shows up here,
      with each of its ticks; see <a href=${linkTo("schedules")}>all schedules</a>.`}<//>`;
}

function Table({ minutes, most }) {
  const choice = usePref("clock");
  const zone = choice === "local" ? "local" : "UTC"; // many schedules have no zone in common
  return html`<div class="scroll"><table class="rows">
    <caption class="hidden">ticks by minute, times in ${zoneName(zone)}</caption>
    <thead><tr><th scope="col">Minute (${zoneName(zone)})</th><th scope="col" class="number">Ticks</th>
      <th scope="col"><span class="hidden">Ticks as a bar</span></th><th scope="col">Schedules</th></tr></thead>
    <tbody>${minutes.map((minute) => html`<${Row} key=${minute.start} minute=${minute} most=${most} zone=${zone} />`)}</tbody>
  </table></div>`;
}

function Row({ minute, most, zone }) {
  const ids = [...minute.ids].slice(0, NAMED);
  const told = ids.reduce((sum, [, times]) => sum + times, 0);
  const rest = minute.ticks - told;
  const label = `${counted(minute.ticks, "tick")}; the fullest minute has ${most}`;
  return html`<tr data-row tabindex="-1">
    <td class="main"><time datetime=${new Date(minute.start).toISOString()}>${clock(minute.start, zone).slice(0, 16)}</time>
      <br /><span class="dim">first ${fromNow(minute.first)}</span></td>
    <td class="number" data-label="Ticks">${minute.ticks.toLocaleString("en")}</td>
    <td><${Bar} value=${minute.ticks} max=${most} label=${label} tone=${minute.herds.length ? "warn" : "live"} /></td>
    <td class="broad" data-label="Schedules"><ul class="names">
      ${ids.map(([id, times]) => html`<li key=${id}><a href=${linkTo("schedules", id)}>${id}</a>
        ${times > 1 && html` <span class="dim">×${times}</span>`}</li>`)}
      ${rest > 0 && html`<li class="dim">and ${counted(rest, "tick")} of others</li>`}</ul>
      ${minute.herds.map((each) => html`<${Badge} key=${each.tick_ms} sign="▲" word=${`${each.herd} UTC`} tone="warn" /> `)}</td>
  </tr>`;
}
