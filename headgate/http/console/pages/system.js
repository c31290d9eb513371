/** The whole: who is on duty, how far scheduling is behind, what is wrong, who works, and on which store. */

import { html } from "../app/dom.js";
import { useRead } from "../app/live.js";
import { linkTo } from "../app/route.js";
import { span, useNow } from "../app/time.js";
import { counted } from "../app/words.js";
import { Bar } from "../ui/bar.js";
import { Badge, Facts, Found, Instant } from "../ui/parts.js";
import { Store } from "./store.js";
import { Workers } from "./workers.js";

const LOOK_MS = 2_000;
const STATUSES = {
  ok: ["●", "healthy", "good"],
  degraded: ["▲", "works, with trouble", "warn"],
  down: ["✕", "down", "bad"],
};
const HELD = { sign: "●", word: "held", tone: "good" };
/** A holder that lives renews long before; this shows when that, or the news of it, stays away. */
const LAPSED = { sign: "▲", word: "not renewed", tone: "warn" };
const DUTIES = {
  scheduler: "makes due ticks into jobs",
  reclaimer: "takes back what crashed workers left, and removes what is old",
};

export function System({ route }) {
  const read = useRead("/duties", {}, { heeds: (hint) => hint.kind === "duty", every: LOOK_MS });
  const meta = useRead("/meta", {}, { heeds: () => false, every: 30_000 });
  return html`<section>
    <div class="heading"><h1>System</h1></div>
    <${Found} read=${read}>${(seen) => html`<div class="cards wide">
      <${Health} seen=${seen} known=${!read.problem} /><${Duties} seen=${seen} ttl=${meta.data?.lease_ttl_ms ?? null} /><${Scheduling} seen=${seen} />
    </div>`}<//>
    <${Workers} cursor=${route.params.get("cursor") ?? ""} />
    <h2>Store and server</h2>
    <${Found} read=${meta}>${(found) => html`<${Store} meta=${found} known=${!meta.problem} />`}<//>
  </section>`;
}

/** What was found. Once nothing is heard any more, what was well is not known to be. */
function Health({ seen, known }) {
  const [sign, word, tone] = (known && STATUSES[seen.status]) || ["?", "not known now", "warn"];
  return html`<div class="card"><h2>Health</h2>
    <p><${Badge} sign=${sign} word=${word} tone=${`large ${tone}`} /></p>
    ${!known ? html`<p>All on this page is as it was seen last.</p>` : seen.problems.length
      ? html`<ul>${seen.problems.map((each) => html`<li key=${each.code}>${each.message} <code class="dim">${each.code}</code></li>`)}</ul>`
      : html`<p class="dim">Somebody schedules, the store takes writes, and nothing is behind.</p>`}
    <p class="dim">As of <${Instant} ms=${seen.store_time_ms} both />, on the store's clock.</p>
  </div>`;
}

function Duties({ seen, ttl }) {
  const now = useNow();
  return html`<div class="card"><h2>Duties</h2>
    ${seen.duties.map((each) => html`<${Duty} key=${each.name} duty=${each} left=${each.lease_left_ms === null ? null
      : Math.max(0, seen.store_time_ms + each.lease_left_ms - now)} ttl=${ttl} />`)}
    <p class="dim">A duty is done by one process at a time. Should that die, another takes over once the lease has run out.</p>
  </div>`;
}

function Duty({ duty, left, ttl }) {
  const held = duty.holder !== null;
  const seconds = left === null ? null : `${(left / 1_000).toFixed(1)} s left of its lease`;
  return html`<div class="duty"><h3>${duty.name}</h3>
    <div class="dim">${DUTIES[duty.name]}</div>
    <div>${!held ? html`<${Badge} sign="✕" word="nobody" tone="bad" />`
      : html`<${Badge} ...${left ? HELD : LAPSED} /> by <code>${duty.holder}</code>`}</div>
    ${seconds && html`<div class="number">
      <${Bar} value=${left} max=${Math.max(ttl ?? 0, duty.lease_left_ms)} tone=${left ? "good" : "warn"} /> ${seconds}</div>`}
    <div class="dim">epoch ${duty.epoch} (it rises with each new holder)</div>
  </div>`;
}

function Scheduling({ seen }) {
  const oldest = seen.oldest_overdue;
  return html`<div class="card"><h2>Scheduling</h2>
    <${Facts} facts=${[
      ["Last sweep", seen.swept_at_ms === null ? "not yet" : html`<${Instant} ms=${seen.swept_at_ms} />`],
      ["Due next", seen.due_next_ms === null ? "nothing waits" : html`<${Instant} ms=${seen.due_next_ms} />`],
      ["Behind by", seen.overdue_by_ms > 0 ? span(seen.overdue_by_ms) : "nothing"],
      ["Overdue", html`<${Those} count=${seen.overdue} filter=${{ order: "next_run" }} sign="▲" tone="warn" />`],
      ["Oldest of them", oldest && html`<a href=${linkTo("schedules", oldest.schedule_id)}>${oldest.schedule_id}</a>, due
        ${" "}<${Instant} ms=${oldest.due_ms} />`],
      ["Failing", html`<${Those} count=${seen.failing} filter=${{ failing: "true" }} sign="✕" tone="bad" />`],
      ["Paused", html`<${Those} count=${seen.paused} filter=${{ paused: "true" }} sign="❚❚" tone="warn" />`],
      ["Schedules", html`<a href=${linkTo("schedules")}>${seen.schedules.toLocaleString("en")}</a>`],
      ["Live processes", seen.processes.toLocaleString("en")],
    ]} />
    <p class="dim">A scheduler looks when something is due, so that nothing to do is no trouble.</p>
  </div>`;
}

/** How many schedules stand like that, as a link to them. */
function Those({ count, filter, sign, tone }) {
  if (!count) return "none";
  return html`<a href=${linkTo("schedules", null, filter)}><${Badge} sign=${sign} word=${counted(count, "schedule")} tone=${tone} /></a>`;
}
