/** The processes that work and live, as their heartbeats say. */

import { html } from "../app/dom.js";
import { useRead } from "../app/live.js";
import { linkTo, setParams } from "../app/route.js";
import { counted } from "../app/words.js";
import { Bar } from "../ui/bar.js";
import { Found, Instant, Pager } from "../ui/parts.js";

const [SIZE, LOOK_MS] = [50, 5_000];
/** Kinds that are named before somebody asks for the rest. */
const NAMED = 6;
const COLUMNS = ["Process", "Last heard", "Runs", "Queues", "Kinds", "Version"];

export function Workers({ cursor }) {
  const read = useRead("/workers", { limit: SIZE, cursor }, { heeds: () => false, every: LOOK_MS });
  return html`<h2>Workers</h2>
    <${Found} read=${read}>${(page) => html`
      ${page.workers.length ? html`<${Table} workers=${page.workers} />` : !read.problem && html`<div class="empty"><p><strong>Nobody works.</strong>
        ${" "}Jobs wait until a process runs your application: <code>headgate worker --app myproject.jobs:app</code>, or
        ${" "}<code>headgate serve</code> with the same.</p></div>`}
      <${Pager} next=${page.next_cursor} first=${cursor} onFirst=${() => setParams({ cursor: "" })}
        onNext=${() => setParams({ cursor: page.next_cursor })} />
    `}<//>`;
}

function Table({ workers }) {
  return html`<div class="scroll"><table class="rows">
    <caption class="hidden">${counted(workers.length, "worker")}</caption>
    <thead><tr>${COLUMNS.map((name) => html`<th scope="col" key=${name}>${name}</th>`)}</tr></thead>
    <tbody>${workers.map((each) => html`<${Row} key=${each.id} worker=${each} />`)}</tbody>
  </table></div>`;
}

function Row({ worker }) {
  const runs = `${worker.running} of ${worker.concurrency} jobs`;
  return html`<tr data-row tabindex="-1">
    <td class="main"><code>${worker.id}</code><br /><span class="dim">${worker.host}, pid ${worker.pid}</span></td>
    <td data-label="Last heard"><${Instant} ms=${worker.seen_at_ms} /></td>
    <td data-label="Runs">${runs}<br /><${Bar} value=${worker.running} max=${worker.concurrency} /></td>
    <td data-label="Queues"><ul class="names">
      ${worker.queues.map((name) => html`<li key=${name}><a href=${linkTo("jobs", null, { queue: name })}>${name}</a></li>`)}</ul></td>
    <td data-label="Kinds"><${Kinds} kinds=${worker.kinds} /></td>
    <td data-label="Version">${worker.version}</td>
  </tr>`;
}

function Kinds({ kinds }) {
  if (!kinds.length) return html`<span class="dim">none</span>`;
  const list = (some) => html`<ul class="names">${some.map((kind) => html`<li key=${kind}><code>${kind}</code></li>`)}</ul>`;
  if (kinds.length <= NAMED) return list(kinds);
  return html`${list(kinds.slice(0, NAMED))}<details><summary>${kinds.length - NAMED} more</summary>${list(kinds.slice(NAMED))}</details>`;
}
