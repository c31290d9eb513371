/** Jobs that somebody asked for: extra runs, and backfills. */

import { segment } from "../app/api.js";
import { html } from "../app/dom.js";
import { useRead } from "../app/live.js";
import { linkTo, setParams } from "../app/route.js";
import { counted } from "../app/words.js";
import { Badge, Empty, Found, Instant, Outcome, Pager } from "../ui/parts.js";
import { useClock, useZoneName } from "./fields.js";

const TRIGGERS = { manual: ["+", "extra run"], backfill: ["↺", "backfill"] };

export function Runs({ id, zone, params }) {
  const asked = { limit: 30, cursor: params.get("cursor") ?? "" };
  const read = useRead(`/periodic/${segment(id)}/manual-runs`, asked, { heeds: (hint) => hint.kind === "schedule" && hint.id === id });
  return html`<${Found} read=${read}>${(page) => html`
    ${page.runs.length ? html`<${Table} runs=${page.runs} zone=${zone} />` : html`<${Empty} title="Nobody asked for a run">
      <strong>Enqueue now</strong> makes one extra job at once; <strong>Backfill</strong>, among the gaps, makes up for ticks that did not run.
      Both are listed here, with who asked.<//>`}
    <${Pager} next=${page.next_cursor} first=${params.get("cursor")} onFirst=${() => setParams({ cursor: "" })}
      onNext=${() => setParams({ cursor: page.next_cursor })} />
  `}<//>`;
}

function Table({ runs, zone }) {
  const instant = useClock(zone);
  const name = useZoneName(zone);
  const [asked, ticks] = [`Asked (${name})`, `Ticks (${name})`];
  return html`<div class="scroll"><table class="rows">
    <caption class="hidden">${counted(runs.length, "run")} by hand</caption>
    <thead><tr><th scope="col">${asked}</th><th scope="col">What</th><th scope="col">Who</th><th scope="col">Outcome</th>
      <th scope="col">${ticks}</th><th scope="col">Job</th></tr></thead>
    <tbody>${runs.map((run) => html`<tr key=${`${run.job_id} ${run.recorded_at_ms}`} data-row tabindex="-1">
      <td data-label=${asked}><${Instant} ms=${run.recorded_at_ms} zone=${zone} both /></td>
      <td data-label="What"><${Trigger} trigger=${run.trigger} /></td>
      <td data-label="Who">${run.by ?? html`<span class="dim">not said</span>`}</td>
      <td data-label="Outcome"><${Outcome} outcome=${run.outcome} /></td>
      <td data-label=${ticks} class=${run.count === null ? "unmarked" : ""}>${run.count === null ? html`<span class="dim">—</span>`
        : `${counted(run.count, "tick")}: ${instant(run.from_ms)}${run.until_ms === run.from_ms ? "" : ` – ${instant(run.until_ms)}`}`}</td>
      <td data-label="Job" class="main"><a href=${linkTo("jobs", run.job_id)}>${run.job_id}</a>
        ${run.count > 1 && html` <span class="dim">the first</span>`}</td>
    </tr>`)}</tbody>
  </table></div>`;
}

function Trigger({ trigger }) {
  const [sign, word] = TRIGGERS[trigger] ?? ["?", trigger];
  return html`<${Badge} sign=${sign} word=${word} tone="calm" />`;
}
