/** The log of changes: who did what to the schedule, from what to what. */

import { segment } from "../app/api.js";
import { html } from "../app/dom.js";
import { useRead } from "../app/live.js";
import { setParams } from "../app/route.js";
import { counted } from "../app/words.js";
import { Badge, Empty, Found, Instant, Pager } from "../ui/parts.js";
import { NAMES, useClock, useZoneName, worded } from "./fields.js";

const SIGNS = { created: "+", updated: "✎", paused: "❚❚", resumed: "▶", deleted: "✕" };

export function Changes({ id, zone, params }) {
  const asked = { limit: 30, cursor: params.get("cursor") ?? "" };
  const read = useRead(`/periodic/${segment(id)}/changes`, asked, { heeds: (hint) => hint.kind === "schedule" && hint.id === id });
  return html`<${Found} read=${read}>${(page) => html`
    ${page.changes.length ? html`<${Table} changes=${page.changes} zone=${zone} />`
      : html`<${Empty} title="No change is kept">Who creates, changes, pauses, resumes or deletes a schedule is listed here.<//>`}
    <${Pager} next=${page.next_cursor} first=${params.get("cursor")} onFirst=${() => setParams({ cursor: "" })}
      onNext=${() => setParams({ cursor: page.next_cursor })} />
  `}<//>`;
}

function Table({ changes, zone }) {
  const when = `When (${useZoneName(zone)})`;
  return html`<div class="scroll"><table class="rows">
    <caption class="hidden">${counted(changes.length, "change")}</caption>
    <thead><tr><th scope="col">${when}</th><th scope="col">What</th><th scope="col">Who</th><th scope="col">From what to what</th>
      <th scope="col">Revision</th></tr></thead>
    <tbody>${changes.map((change) => html`<tr key=${`${change.at_ms} ${change.revision} ${change.what}`} data-row tabindex="-1">
      <td data-label=${when}><${Instant} ms=${change.at_ms} zone=${zone} both /></td>
      <td data-label="What"><${Badge} sign=${SIGNS[change.what] ?? "?"} word=${change.what} tone="calm" /></td>
      <td data-label="Who">${change.by ?? html`<span class="dim">not said</span>`}</td>
      <td data-label="From what to what"><${Fields} change=${change} zone=${zone} /></td>
      <td data-label="Revision">${change.revision}</td>
    </tr>`)}</tbody>
  </table></div>`;
}

function Fields({ change, zone }) {
  const instant = useClock(zone);
  const fields = Object.entries(change.fields);
  if (!fields.length && change.anchor_ms === null) return html`<span class="dim">—</span>`;
  return html`${fields.map(([name, [from, to]]) => html`<div key=${name}><strong>${NAMES[name] ?? name.replace(/_ms$/, "").replaceAll("_", " ")}</strong>: ${
      from === undefined ? "changed" : html`${worded(name, from, instant)} <span aria-label="to">→</span> ${worded(name, to, instant)}`}</div>`)}
    ${change.anchor_ms !== null && html`<div class="dim">counts from ${instant(change.anchor_ms)}</div>`}`;
}
