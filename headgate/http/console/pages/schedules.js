/** All schedules: how each stands, what it did last and does next. The view is in the address. */

import { html, useEffect, useState } from "../app/dom.js";
import { useRead } from "../app/live.js";
import { useMayWrite } from "../app/may.js";
import { go, linkTo, setParams } from "../app/route.js";
import { span } from "../app/time.js";
import { counted, outcomeOf, OUTCOMES, stateOf } from "../app/words.js";
import { ask } from "../ui/dialog.js";
import { Badge, Empty, Found, Instant, Pager, Sparkline } from "../ui/parts.js";
import { Bulk } from "./bulk.js";
import { Edit } from "./edit.js";
import { Actions } from "./actions.js";

const FILTERS = [
  ["paused", "", "any state"],
  ["paused", "true", "paused"],
  ["paused", "false", "not paused"],
];
const SIZE = 50;

export function Schedules({ route }) {
  const { params } = route;
  const asked = { limit: SIZE };
  for (const name of ["prefix", "label", "paused", "failing", "order", "cursor"]) asked[name] = params.get(name) ?? "";
  const read = useRead("/periodic", asked, {
    heeds: (hint, data) => hint.kind === "schedule" && (!data || data.schedules.some((each) => each.id === hint.id) || data.schedules.length < SIZE),
  });
  const [selected, setSelected] = useState(new Set());
  const mayWrite = useMayWrite();
  const listed = read.data?.schedules ?? [];
  useEffect(() => setSelected(new Set()), [params.toString()]);
  const toggle = (id) => setSelected((before) => toggled(before, id));
  const create = async () => {
    const made = await ask(Edit, {});
    if (made) go("schedules", made.id);
  };
  return html`<section>
    <div class="heading"><h1>Schedules</h1>
      ${mayWrite && html`<button class="primary" onClick=${create}>New schedule</button>`}</div>
    <${Filters} params=${params} />
    ${mayWrite && html`<${Bulk} selected=${selected} schedules=${listed} clear=${() => setSelected(new Set())} />`}
    <${Found} read=${read}>${(page) => html`
      ${page.schedules.length ? html`<${Table} schedules=${page.schedules} selected=${selected} toggle=${mayWrite ? toggle : null}
          toggleAll=${() => setSelected(selected.size === listed.length ? new Set() : new Set(listed.map((each) => each.id)))} />`
        : html`<${Nothing} filtered=${["prefix", "label", "paused", "failing"].some((name) => params.get(name))} more=${page.next_cursor} />`}
      <${Pager} next=${page.next_cursor} first=${params.get("cursor")} onFirst=${() => setParams({ cursor: "" })}
        onNext=${() => setParams({ cursor: page.next_cursor })} />
    `}<//>
  </section>`;
}

function Filters({ params }) {
  const set = (name) => (event) => setParams({ [name]: event.target.value, cursor: "" });
  return html`<form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
    <input data-search type="search" placeholder="id begins with…  ( / )" aria-label="id begins with" value=${params.get("prefix") ?? ""} onInput=${set("prefix")} />
    <${LabelFilter} label=${params.get("label") ?? ""} onChange=${set("label")} />
    <select aria-label="pause state" value=${params.get("paused") ?? ""} onChange=${set("paused")}>
      ${FILTERS.map(([, value, text]) => html`<option value=${value}>${text}</option>`)}
    </select>
    <select aria-label="failing" value=${params.get("failing") ?? ""} onChange=${set("failing")}>
      <option value="">failing or not</option><option value="true">failing</option><option value="false">not failing</option>
    </select>
    <select aria-label="order" value=${params.get("order") ?? ""} onChange=${set("order")}>
      <option value="">by id</option><option value="next_run">by next run</option>
    </select>
  </form>`;
}

/** Asked for once it is typed out: half a label fits nothing. Till then a refresh of the list leaves what is typed alone. */
function LabelFilter({ label, onChange }) {
  const [typed, setTyped] = useState(null);
  return html`<input type="search" placeholder="label, as team=mail" aria-label="label" value=${typed ?? label}
    onInput=${(event) => setTyped(event.target.value)} onChange=${onChange} onBlur=${() => setTyped(null)} />`;
}

function Nothing({ filtered, more }) {
  const mayWrite = useMayWrite();
  if (more) return html`<${Empty} title="None on this page">The filters were looked up for as many schedules as one page may; the next page goes on.<//>`;
  if (filtered) return html`<${Empty} title="No schedule like that">Nothing fits these filters.<//>`;
  return html`<${Empty} title="No schedules yet">
    A schedule says when a job of some kind is to be enqueued: <code>0 9 * * MON-FRI</code>, or <code>@every:60000</code>.
    ${mayWrite ? "Make one here, declare" : "Declare"} it in your application, or <code>headgate apply schedules.toml</code>.
  <//>`;
}

function Table({ schedules, selected, toggle, toggleAll }) {
  return html`<div class="scroll"><table class="rows">
    <caption class="hidden">${counted(schedules.length, "schedule")}</caption>
    <thead><tr>
      ${toggle && html`<th><input type="checkbox" aria-label="select all" checked=${selected.size === schedules.length} onChange=${toggleAll} /></th>`}
      <th scope="col">Schedule</th><th scope="col">State</th><th scope="col">When</th><th scope="col">Next tick</th>
      <th scope="col">Last tick</th><th scope="col">Last 30</th>${toggle && html`<th scope="col"><span class="hidden">Actions</span></th>`}
    </tr></thead>
    <tbody>${schedules.map((each) => html`<${Row} key=${each.id} schedule=${each} chosen=${selected.has(each.id)} toggle=${toggle} />`)}</tbody>
  </table></div>`;
}

function Row({ schedule, chosen, toggle }) {
  const [sign, word, tone] = stateOf(schedule);
  return html`<tr data-row tabindex="-1" aria-selected=${toggle ? chosen : null}>
    ${toggle && html`<td><input type="checkbox" aria-label=${`select ${schedule.id}`} checked=${chosen} onChange=${() => toggle(schedule.id)} /></td>`}
    <td class="main"><a href=${linkTo("schedules", schedule.id)}>${schedule.id}</a><br /><span class="dim">${schedule.kind} · ${schedule.queue}</span></td>
    <td data-label="State"><${Badge} sign=${sign} word=${word} tone=${tone} /></td>
    <td class="broad" data-label="When">${schedule.reading}<br /><code class="dim">${schedule.spec}</code></td>
    <td data-label="Next tick"><${Instant} ms=${schedule.paused ? null : schedule.next_run_ms} zone=${schedule.zone} /></td>
    <td data-label="Last tick"><${LastTick} schedule=${schedule} /></td>
    <td data-label="Last 30"><${Sparkline} outcomes=${schedule.outcomes} /></td>
    ${toggle && html`<td><${Actions} schedule=${schedule} /></td>`}
  </tr>`;
}

/** The last tick that was decided: what became of it, and how late that was. */
export function LastTick({ schedule }) {
  if (schedule.last_tick_ms === null) return html`<span class="dim">none yet</span>`;
  const [word, sign, tone] = outcomeOf((OUTCOMES[schedule.outcomes.at(-1)] ?? ["enqueued"])[0]);
  const late = schedule.last_lateness_ms;
  return html`<${Instant} ms=${schedule.last_tick_ms} zone=${schedule.zone} /><br />
    <${Badge} sign=${sign} word=${word} tone=${tone} />${late !== null && html` <span class="dim">${span(late)} late</span>`}`;
}

function toggled(before, id) {
  const next = new Set(before);
  if (!next.delete(id)) next.add(id);
  return next;
}
