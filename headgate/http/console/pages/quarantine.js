/** Quarantine: content that may neither be enqueued nor run, why, and what waits for its release. */

import { html } from "../app/dom.js";
import { useRead } from "../app/live.js";
import { useMayWrite } from "../app/may.js";
import { linkTo, setParams } from "../app/route.js";
import { QUARANTINE_WHYS, counted } from "../app/words.js";
import { ask } from "../ui/dialog.js";
import { Badge, Empty, Found, Instant, Pager } from "../ui/parts.js";
import { BarContent, Release, released, told } from "./quarantine_dialogs.js";

const SIZE = 50;

export function Quarantine({ route }) {
  const cursor = route.params.get("cursor") ?? "";
  const read = useRead("/quarantine", { limit: SIZE, cursor }, { heeds: (hint) => hint.kind === "job" });
  const mayWrite = useMayWrite();
  return html`<section>
    <div class="heading"><h1>Quarantine</h1>
      ${mayWrite && html`<button class="primary" onClick=${() => ask(BarContent, {}).then(told)}>Bar a fingerprint</button>`}</div>
    <${Found} read=${read}>${(page) => html`
      ${page.quarantines.length ? html`<${Table} quarantines=${page.quarantines} mayWrite=${mayWrite} />` : html`<${Nothing} />`}
      <${Pager} next=${page.next_cursor} first=${cursor} onFirst=${() => setParams({ cursor: "" })}
        onNext=${() => setParams({ cursor: page.next_cursor })} />
    `}<//>
  </section>`;
}

function Nothing() {
  return html`<${Empty} title="Nothing is in quarantine">
    Content whose jobs crash their workers again and again ends up here by itself, so that it cannot take down every worker in turn.
    Content is a kind and a payload, by its fingerprint; a job's page has it.<//>`;
}

function Table({ quarantines, mayWrite }) {
  return html`<p class="lead">None of this is enqueued or run until it is released. Its ticks are skipped, and say so in their schedules' trails.</p>
  <div class="scroll"><table class="rows">
    <caption class="hidden">${counted(quarantines.length, "quarantined fingerprint")}</caption>
    <thead><tr><th scope="col">Fingerprint</th><th scope="col">Why</th><th scope="col">Since</th><th scope="col">Brought about by</th>
      <th scope="col" class="number">Set aside</th>${mayWrite && html`<th scope="col"><span class="hidden">Actions</span></th>`}</tr></thead>
    <tbody>${quarantines.map((each) => html`<${Row} key=${each.fingerprint} entry=${each} mayWrite=${mayWrite} />`)}</tbody>
  </table></div>`;
}

function Row({ entry, mayWrite }) {
  const [sign, word] = entry.why === "operator" ? ["⊘", "by hand"] : ["✕", "crashes"];
  const release = () => ask(Release, { entry }).then(released);
  return html`<tr data-row tabindex="-1">
    <td class="main"><code>${entry.fingerprint}</code></td>
    <td class="broad" data-label="Why"><${Badge} sign=${sign} word=${word} tone="bad" /><br />
      ${entry.note ? html`“${entry.note}”` : html`<span class="dim">${QUARANTINE_WHYS[entry.why] ?? entry.why}</span>`}</td>
    <td data-label="Since"><${Instant} ms=${entry.since_ms} /></td>
    <td data-label="Brought about by">${entry.job_id ? html`<a href=${linkTo("jobs", entry.job_id)}>${entry.job_id}</a>`
      : html`<span class="dim">no job</span>`}</td>
    <td class="number" data-label="Set aside">${counted(entry.set_aside, "job")}</td>
    ${mayWrite && html`<td><div class="actions-of">
      <button class="plain" aria-label=${`Release ${entry.fingerprint}`} onClick=${release}>Release</button>
      <button class="plain" aria-label=${`Note on ${entry.fingerprint}`} onClick=${() => ask(BarContent, { entry }).then(told)}>Note</button>
    </div></td>`}
  </tr>`;
}
