/** What answers here: versions, store, limits, and where the contract and the measurements are. */

import { html } from "../app/dom.js";
import { span } from "../app/time.js";
import { Badge, Facts } from "../ui/parts.js";

const root = document.documentElement.dataset.root ?? "";
const UNITS = ["bytes", "KiB", "MiB", "GiB"];

/** @param {{meta: any, known: boolean}} props `known`: whether that is how it is now */
export function Store({ meta, known }) {
  const { limits, store } = meta;
  return html`<div class="cards wide">
    <div class="card"><h3>Store</h3>
      <${Facts} facts=${[["Kind", store.kind], ["Version", store.version], ["Namespace", html`<code>${meta.namespace}</code>`],
        ["Lease of a duty", span(meta.lease_ttl_ms)]]} />
      ${store.warnings.length
        ? html`<div class="note warn"><p><${Badge} sign="▲" word="Its set-up weakens what Headgate promises" tone="warn" /></p>
            <ul>${store.warnings.map((each) => html`<li key=${each}>${each}</li>`)}</ul></div>`
        : known && html`<p class="good"><span aria-hidden="true">✓</span> Nothing about its set-up weakens what Headgate promises</p>`}
    </div>
    <div class="card"><h3>Server</h3>
      <${Facts} facts=${[["Headgate", meta.version], ["Environment", meta.environment || html`<span class="dim">without a name</span>`],
        ["Writes over HTTP", meta.read_only ? "refused" : "allowed"]]} />
      <p><a href=${`${root}/docs/api`}>The API</a>, for people · <a href=${`${root}/api/v1/openapi.json`}>OpenAPI</a>, for programs ·
        ${" "}<a href=${`${root}/metrics`}>Metrics</a>, for Prometheus</p>
    </div>
    <div class="card"><h3>Limits of a request</h3>
      <${Facts} facts=${[["Body", size(limits.body_bytes)], ["Payload", size(limits.payload_bytes)], ["Levels of JSON", limits.json_levels],
        ["Entries of a page", limits.page], ["Jobs or schedules at once", limits.batch], ["Ticks of a backfill", limits.backfill_ticks],
        ["Events kept of a schedule", limits.events]]} />
    </div>
  </div>`;
}

/** Bytes for people: "2 MiB". */
function size(bytes) {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${Number((bytes / 1_024 ** power).toFixed(1))} ${UNITS[power]}`;
}
