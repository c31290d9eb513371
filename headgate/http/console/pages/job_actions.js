/** What can be done to one job, from its row or its page. Only what its state allows is offered. */

import { call, segment } from "../app/api.js";
import { html } from "../app/dom.js";
import { refresh } from "../app/live.js";
import { useMayWrite } from "../app/may.js";
import { isFinal } from "../app/words.js";
import { FormDialog, ask } from "../ui/dialog.js";
import { say } from "../ui/toast.js";
import { act } from "./actions.js";

const path = (job) => `/jobs/${segment(job.id)}`;

/** One that runs or may run at once has nothing to wait for; one that is set aside waits for a release. */
const mayRetry = (job) => !["running", "available", "quarantined"].includes(job.state);

/**
 * @param {{job: any, big?: boolean, onGone?: () => void}} props `onGone`: after it was deleted
 */
export function JobActions({ job, big = false, onGone = () => {} }) {
  if (!useMayWrite()) return null;
  const css = big ? "" : "plain";
  const retry = job.state === "scheduled" ? "Run now" : big && job.state === "undecodable" ? "Retry (once the actor fits)" : "Retry";
  const cancel = async () => {
    const ended = await ask(Cancel, { job });
    if (!ended) return;
    say(ended.state === "running" ? `${job.id} ends once its worker has stopped it.` : `${job.id} is ${ended.state}.`);
    refresh();
  };
  const remove = async () => {
    if (!(await ask(Delete, { job }))) return;
    say(`Deleted ${job.id}.`);
    refresh();
    onGone();
  };
  return html`<div class="actions-of">
    ${mayRetry(job) && html`<button class=${css} aria-label=${`${retry} ${job.id}`} title="It may run at once, and has all its attempts again"
      onClick=${() => act("POST", `${path(job)}/retry`, `${job.id} may run at once.`)}>${retry}</button>`}
    ${!isFinal(job.state) && html`<button class=${css} aria-label=${`Cancel ${job.id}`} onClick=${cancel}>Cancel</button>`}
    ${job.state !== "running" && html`<button class=${css} aria-label=${`Delete ${job.id}`} onClick=${remove}>Delete</button>`}
  </div>`;
}

function Cancel({ job, done }) {
  const submit = () => call("POST", `${path(job)}/cancel`);
  return html`<${FormDialog} title="Cancel this job" submitLabel="Cancel the job" submit=${submit} done=${done} danger>
    <p><code>${job.id}</code></p>
    <p>${job.state === "running" ? "Its worker is told to stop it. Until it has, the job keeps its place." : "It does not run any more."}
      ${" "}A retry brings it back.</p>
  <//>`;
}

function Delete({ job, done }) {
  const submit = async () => {
    await call("DELETE", path(job));
    return true;
  };
  return html`<${FormDialog} title="Delete this job" submitLabel="Delete" submit=${submit} done=${done} danger>
    <p><code>${job.id}</code></p>
    <p>${isFinal(job.state) ? "Its record is removed" : "It never runs, and its record is removed"}: what became of it cannot be looked up
      any more, and this cannot be taken back.${job.periodic_origin && " The history of its schedule stays."}</p>
  <//>`;
}
