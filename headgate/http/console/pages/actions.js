/** What can be done to one schedule, from its row or its page. */

import { call, newKey, segment } from "../app/api.js";
import { html, useState } from "../app/dom.js";
import { refresh } from "../app/live.js";
import { linkTo } from "../app/route.js";
import { fromInput } from "../app/time.js";
import { Field, FormDialog, ask } from "../ui/dialog.js";
import { complain, say } from "../ui/toast.js";

/** @param {any} schedule */
export function Actions({ schedule, big = false }) {
  const css = big ? "" : "plain";
  return html`<div class="actions-of">
    <button class=${css} onClick=${() => runNow(schedule.id)} title="makes one extra job">Enqueue now</button>
    ${schedule.paused
      ? html`<button class=${css} onClick=${() => ask(Resume, { ids: [schedule.id] }).then(told("resumed", schedule.id))}>Resume</button>`
      : html`<button class=${css} onClick=${() => ask(Pause, { ids: [schedule.id] }).then(told("paused", schedule.id))}>Pause</button>`}
  </div>`;
}

const told = (what, id) => (result) => {
  if (!result) return;
  say(`${id} is ${what}.`);
  refresh();
};

/** Ask whether to enqueue now, and do it once. */
export async function runNow(id) {
  const made = await ask(Run, { id });
  if (!made) return;
  const link = html`<a href=${linkTo("jobs", made.job_id)}>${made.job_id}</a>`;
  say(made.duplicate ? html`Another job holds its unique key: ${link}.` : html`Enqueued ${link}.`);
  refresh();
}

/** The key is made when the dialog opens: a double click, or a retry after a lost answer, makes one job. */
function Run({ id, done }) {
  const [key] = useState(newKey());
  const submit = () => call("POST", `/periodic/${segment(id)}/run`, { headers: { "Idempotency-Key": key }, body: {} });
  return html`<${FormDialog} title=${`Enqueue ${id} now`} submitLabel="Enqueue now" submit=${submit} done=${done}>
    <p>This makes <strong>one extra job</strong>. The next run stays where it is, and so does the history of ticks. The job still
      passes the gate of its queue: a pause or a limit there holds it up like any other.</p>
  <//>`;
}

/** Pause one, or several at once. */
export function Pause({ ids, done }) {
  const [until, setUntil] = useState("");
  const [reason, setReason] = useState("");
  const submit = () => {
    const body = { reason, until_ms: fromInput(until) };
    if (ids.length === 1) return call("POST", `/periodic/${segment(ids[0])}/pause`, { body });
    return call("POST", "/periodic/bulk", { body: { action: "pause", ids, ...body } });
  };
  return html`<${FormDialog} title=${named("Pause", ids)} submitLabel="Pause" submit=${submit} done=${done}>
    <p>It fires nothing until it is resumed. A pause is a decision: its ticks are not made up for unless you say so then.</p>
    <${Field} label="Reason" hint="shown to everybody who wonders"><input name="reason" maxlength="1000" value=${reason} onInput=${(event) => setReason(event.target.value)} /><//>
    <${Field} label="Until" hint="on this machine's clock; it resumes by itself then. Empty: until somebody resumes it">
      <input type="datetime-local" name="until" value=${until} onInput=${(event) => setUntil(event.target.value)} /><//>
  <//>`;
}

const MISSED = [
  ["none", "None of them", "They are recorded as one range that did not run."],
  ["run_once", "The latest one", "One job makes up for all; the others are recorded as not run."],
  ["backfill", "As many as its limit allows", "The latest ticks run, oldest first; the others are recorded as not run."],
];

/** Resume, with the choice for the ticks of the pause. */
export function Resume({ ids, done }) {
  const [missed, setMissed] = useState("none");
  const submit = () => {
    if (ids.length === 1) return call("POST", `/periodic/${segment(ids[0])}/resume`, { body: { missed } });
    return call("POST", "/periodic/bulk", { body: { action: "resume", ids, missed } });
  };
  return html`<${FormDialog} title=${named("Resume", ids)} submitLabel="Resume" submit=${submit} done=${done}>
    <fieldset><legend>Which ticks of the pause are to run?</legend>
      ${MISSED.map(([value, label, what]) => html`<label class="choice">
        <input type="radio" name="missed" value=${value} checked=${missed === value} onChange=${() => setMissed(value)} />
        <span>${label}<br /><small class="dim">${what}</small></span></label>`)}
    </fieldset>
  <//>`;
}

/** Delete asks for the id: it is the one act that cannot be taken back. */
export function Delete({ schedule, done }) {
  const [typed, setTyped] = useState("");
  const submit = async () => {
    const headers = { "If-Match": `"${schedule.revision}"` };
    await call("DELETE", `/periodic/${segment(schedule.id)}`, { headers });
    return true;
  };
  return html`<${FormDialog} title=${`Delete ${schedule.id}`} submitLabel="Delete" submit=${submit} done=${done} danger disabled=${typed !== schedule.id}>
    <p>It fires no more. Jobs that it made are left alone, and its history stays readable for a while.</p>
    <${Field} label=${`Type ${schedule.id} to confirm`}><input name="confirm" autocomplete="off" value=${typed} onInput=${(event) => setTyped(event.target.value)} /><//>
  <//>`;
}

const named = (what, ids) => (ids.length === 1 ? `${what} ${ids[0]}` : `${what} ${ids.length} schedules`);

/** Do something that asks nothing, and tell what became of it. */
export async function act(method, path, what, options = {}) {
  try {
    const result = await call(method, path, options);
    say(what);
    refresh();
    return result;
  } catch (problem) {
    complain(problem);
    return null;
  }
}
