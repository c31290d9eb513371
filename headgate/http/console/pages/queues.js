/** Queues: how full each is, what it lets through, and whether it is paused. */

import { call, segment } from "../app/api.js";
import { html } from "../app/dom.js";
import { refresh, useRead } from "../app/live.js";
import { useMayWrite } from "../app/may.js";
import { linkTo, setParams } from "../app/route.js";
import { JOB_STATES, counted, isFinal } from "../app/words.js";
import { FormDialog, ask } from "../ui/dialog.js";
import { Badge, Empty, Found, Instant, Pager } from "../ui/parts.js";
import { say } from "../ui/toast.js";
import { act } from "./actions.js";
import { rate } from "./admission.js";
import { Bar } from "../ui/bar.js";
import { Limits } from "./limits.js";

const SIZE = 50;

export function Queues({ route }) {
  const cursor = route.params.get("cursor") ?? "";
  const read = useRead("/queues", { limit: SIZE, cursor }, { heeds: (hint) => hint.kind === "job" });
  return html`<section>
    <div class="heading"><h1>Queues</h1></div>
    <${Found} read=${read}>${(page) => html`
      ${page.queues.length ? html`<${Table} queues=${page.queues} />` : html`<${Empty} title="No queues yet">
        A queue begins with its first job, or with the first word about it: jobs and schedules name one, and go to
        ${" "}<code>default</code> unless they do. See <a href=${linkTo("schedules")}>schedules</a>.<//>`}
      <${Pager} next=${page.next_cursor} first=${cursor} onFirst=${() => setParams({ cursor: "" })}
        onNext=${() => setParams({ cursor: page.next_cursor })} />
    `}<//>
  </section>`;
}

function Table({ queues }) {
  const mayWrite = useMayWrite();
  return html`<div class="scroll"><table class="rows">
    <caption class="hidden">${counted(queues.length, "queue")}</caption>
    <thead><tr><th scope="col">Queue</th><th scope="col">State</th><th scope="col">Jobs</th><th scope="col">Limits</th>
      ${mayWrite && html`<th scope="col"><span class="hidden">Actions</span></th>`}</tr></thead>
    <tbody>${queues.map((each) => html`<${Row} key=${each.name} queue=${each} mayWrite=${mayWrite} />`)}</tbody>
  </table></div>`;
}

function Row({ queue, mayWrite }) {
  const counts = Object.keys(JOB_STATES).map((state) => [state, queue.counts[state] ?? 0]);
  return html`<tr data-row tabindex="-1">
    <td class="main"><a href=${linkTo("jobs", null, { queue: queue.name })}>${queue.name}</a></td>
    <td data-label="State">${queue.paused
      ? html`<${Badge} sign="❚❚" word="paused" tone="warn" /><br /><span class="dim"><${Instant} ms=${queue.paused_since_ms} /></span>`
      : html`<${Badge} sign="▶" word="open" tone="good" />`}</td>
    <td class="broad" data-label="Jobs"><${Counts} queue=${queue.name} counts=${counts} /></td>
    <td class="broad" data-label="Limits"><${LimitsInWords} queue=${queue} counts=${Object.fromEntries(counts)} /></td>
    ${mayWrite && html`<td><${Actions} queue=${queue} /></td>`}
  </tr>`;
}

function Counts({ queue, counts }) {
  const some = counts.filter(([, count]) => count);
  if (!some.length) return html`<span class="dim">none</span>`;
  return html`<ul class="counts">${some.map(([state, count]) => {
    const [sign, tone] = JOB_STATES[state];
    return html`<li key=${state}><a href=${linkTo("jobs", null, { queue, state })}><span aria-hidden="true" class=${tone}>${sign}</span>
      ${" "}<strong>${count.toLocaleString("en")}</strong> ${state}</a></li>`;
  })}</ul>`;
}

function LimitsInWords({ queue, counts }) {
  const { max_concurrent: concurrent, max_unfinished: most, rate_limit: limit } = queue.limits;
  if (concurrent === null && most === null && limit === null) return html`<span class="dim">none</span>`;
  const unfinished = Object.entries(counts).reduce((sum, [state, count]) => sum + (isFinal(state) ? 0 : count), 0);
  return html`
    ${concurrent !== null && html`<${Full} value=${counts.running} max=${concurrent} what="run at once" />`}
    ${most !== null && html`<${Full} value=${unfinished} max=${most} what="wait or run" />`}
    ${limit !== null && html`<div>${rate(limit)}</div>`}`;
}

/** How far a limit is used up. */
function Full({ value, max, what }) {
  const text = `${value.toLocaleString("en")} of ${max.toLocaleString("en")} that may ${what}`;
  return html`<div>${text}<br /><${Bar} value=${value} max=${max} tone=${value >= max ? "warn" : "live"} /></div>`;
}

function Actions({ queue }) {
  const path = `/queues/${segment(queue.name)}`;
  const pause = async () => {
    if (!(await ask(Pause, { queue }))) return;
    say(`${queue.name} is paused.`);
    refresh();
  };
  const resume = () => act("POST", `${path}/resume`, `${queue.name} is resumed.`);
  const limit = async () => {
    if (!(await ask(Limits, { queue }))) return;
    say(`${queue.name} has new limits.`);
    refresh();
  };
  return html`<div class="actions-of">
    ${queue.paused
      ? html`<button class="plain" aria-label=${`Resume ${queue.name}`} onClick=${resume}>Resume</button>`
      : html`<button class="plain" aria-label=${`Pause ${queue.name}`} onClick=${pause}>Pause</button>`}
    <button class="plain" aria-label=${`Limits of ${queue.name}`} onClick=${limit}>Limits</button>
  </div>`;
}

function Pause({ queue, done }) {
  const submit = () => call("POST", `/queues/${segment(queue.name)}/pause`);
  return html`<${FormDialog} title=${`Pause ${queue.name}`} submitLabel="Pause" submit=${submit} done=${done}>
    <p>None of its jobs begins until it is resumed. What runs goes on, and it still takes jobs: schedules go on to fire into it.</p>
  <//>`;
}
