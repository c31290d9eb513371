/** Many schedules at once: one dialog, one request, and a result for each. */

import { call, newKey } from "../app/api.js";
import { html, useState } from "../app/dom.js";
import { refresh } from "../app/live.js";
import { counted } from "../app/words.js";
import { FormDialog, ask } from "../ui/dialog.js";
import { say } from "../ui/toast.js";
import { Delete, Pause, Resume } from "./actions.js";

export function Bulk({ selected, schedules, clear }) {
  if (!selected.size) return null;
  const ids = schedules.map((each) => each.id).filter((id) => selected.has(id));
  const after = async (what, result) => {
    if (!result) return;
    refresh();
    const results = result.results ?? ids.map((id) => ({ id, status: 200 }));
    if (results.every((each) => !each.problem)) say(`${what} ${counted(results.length, "schedule")}.`);
    else await ask(Results, { what, results });
    clear();
  };
  const [only] = schedules.filter((each) => each.id === ids[0]);
  const remove = () => (ids.length === 1 ? ask(Delete, { schedule: only }) : ask(DeleteAll, { ids }));
  return html`<div class="bulk" role="toolbar" aria-label="what to do with the selected">
    <strong>${counted(ids.length, "schedule")} selected</strong>
    <button onClick=${async () => after("Paused", await ask(Pause, { ids }))}>Pause</button>
    <button onClick=${async () => after("Resumed", await ask(Resume, { ids }))}>Resume</button>
    <button onClick=${async () => after("Ran", await ask(RunAll, { ids }))}>Run now</button>
    <button class="danger" onClick=${async () => after("Deleted", await remove())}>Delete</button>
    <button class="plain" onClick=${clear}>Clear</button>
  </div>`;
}

function RunAll({ ids, done }) {
  const [key] = useState(newKey());
  const submit = () => call("POST", "/periodic/bulk", { body: { action: "run", ids }, headers: { "Idempotency-Key": key } });
  return html`<${FormDialog} title=${`Enqueue ${counted(ids.length, "schedule")} now`} submitLabel="Enqueue now" submit=${submit} done=${done}>
    <p>This makes <strong>one extra job of each</strong>. Their next runs stay where they are.</p>
  <//>`;
}

function DeleteAll({ ids, done }) {
  const [typed, setTyped] = useState("");
  const submit = () => call("POST", "/periodic/bulk", { body: { action: "delete", ids } });
  const word = String(ids.length);
  return html`<${FormDialog} title=${`Delete ${counted(ids.length, "schedule")}`} submitLabel="Delete" submit=${submit} done=${done} danger disabled=${typed !== word}>
    <p>They fire no more: <code>${ids.slice(0, 10).join(", ")}${ids.length > 10 ? " …" : ""}</code>.</p>
    <label class="field"><span>Type ${word}, their number, to confirm</span>
      <input name="confirm" autocomplete="off" value=${typed} onInput=${(event) => setTyped(event.target.value)} /></label>
  <//>`;
}

function Results({ what, results, done }) {
  const refused = results.filter((each) => each.problem);
  return html`<${FormDialog} title=${`${what} ${results.length - refused.length} of ${results.length}`} submitLabel="Close" submit=${async () => null} done=${done} closeOnly>
    <p>These were left as they are:</p>
    <ul>${refused.map((each) => html`<li><code>${each.id}</code>: ${each.problem.detail} <span class="dim">(${each.problem.code}, request ${each.problem.request_id})</span></li>`)}</ul>
  <//>`;
}
