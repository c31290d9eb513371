/** One job: where it comes from, how far it is, and what stands in its way. */

import { segment, url } from "../app/api.js";
import { html, useState } from "../app/dom.js";
import { useRead } from "../app/live.js";
import { useMayWrite } from "../app/may.js";
import { go, linkTo } from "../app/route.js";
import { span } from "../app/time.js";
import { JOB_STATE_TEXT, isFinal } from "../app/words.js";
import { ask } from "../ui/dialog.js";
import { Empty, Facts, Found, Instant, JobState, ProblemNote } from "../ui/parts.js";
import { Admission } from "./admission.js";
import { getExact } from "./exact.js";
import { useZoneName } from "./fields.js";
import { JobActions } from "./job_actions.js";
import { attempts } from "./jobs.js";
import { BarContent, told } from "./quarantine_dialogs.js";

export function Job({ route }) {
  const id = route.id;
  const read = useRead(`/jobs/${segment(id)}`, {}, { heeds: (hint) => hint.kind === "job" && hint.id === id });
  if (read.problem?.code === "job_not_found") return html`<${Gone} id=${id} />`;
  return html`<${Found} read=${read}>${(job) => html`<${Detail} job=${job} />`}<//>`;
}

function Gone({ id }) {
  return html`<section><h1>${id}</h1><${Empty} title="No such job">
    A job is removed when its retention is over, or when somebody deletes it.
    See <a href=${linkTo("jobs")}>the jobs that are there</a>.<//></section>`;
}

function Detail({ job }) {
  const list = { queue: job.queue, state: job.state };
  return html`<section>
    <div class="heading"><h1>${job.id}</h1><${JobActions} job=${job} big onGone=${() => go("jobs", null, list)} /></div>
    <p><${JobState} state=${job.state} /> <span class="dim">${JOB_STATE_TEXT[job.state]}</span></p>
    <${Origin} job=${job} />
    <${Timeline} job=${job} />
    ${!isFinal(job.state) && job.state !== "running" && html`<${Admission} job=${job} />`}
    <h2>Attempts</h2>
    <${Facts} facts=${[
      ["Attempts", attempts(job)],
      ["Class of the last error", job.last_error && html`<code>${job.last_error}</code>`],
      [job.state === "running" ? "Runs on" : "Ran last on", job.worker && html`<code>${job.worker}</code>`],
      ["Longest run of an attempt", span(job.timeout_ms)],
    ]} />
    <h2>What it is</h2>
    <${Facts} facts=${[
      ["Kind", html`<code>${job.kind}</code>`],
      ["Queue", html`<a href=${linkTo("jobs", null, list)}>${job.queue}</a>`],
      ["Priority", job.priority],
      ["Deadline", job.deadline_ms !== null && html`<${Instant} ms=${job.deadline_ms} both />`],
      ["Unique key", job.unique_key && html`<code>${job.unique_key}</code>`],
      ["Kept after it completes", span(job.retention_ms)],
    ].filter(([, value]) => value !== false)} />
    <p><span class="dim">Fingerprint of kind and payload:</span> <${Fingerprint} job=${job} /></p>
    <${Payload} key=${job.id} id=${job.id} />
  </section>`;
}

function Origin({ job }) {
  const { periodic_origin: origin, manual_schedule_id: manual } = job;
  if (manual) return html`<p>Enqueued by hand as an extra run of <a href=${linkTo("schedules", manual)}>${manual}</a>.</p>`;
  if (!origin) return html`<p>Enqueued by a request of its own; no schedule made it.</p>`;
  const { schedule_id: id, tick_ms: tick } = origin;
  return html`<p>Made by <a href=${linkTo("schedules", id)}>${id}</a> for its tick of <${Instant} ms=${tick} both />:
    ${" "}<a href=${linkTo("schedules", id, { tab: "explain", tick })}>explain this tick</a>,
    ${" "}<a href=${linkTo("jobs", null, { schedule: id })}>all jobs of its ticks</a>.</p>`;
}

/** From being enqueued to its end; what lies between two of them is how long that took. */
function Timeline({ job }) {
  const zone = useZoneName("UTC");
  const waits = !job.started_at_ms && !job.finished_at_ms;
  const begun = job.state === "running" || isFinal(job.state) || job.attempt > 0 || job.crash_attempt > 0;
  const steps = [
    ["Enqueued", job.enqueued_at_ms, null],
    [waits && job.state !== "available" ? "May run from" : "Available", job.available_at_ms, null],
    [job.attempt + job.crash_attempt > 0 ? "Last started" : "Started", begun ? job.started_at_ms : null,
      between(job.available_at_ms, job.started_at_ms, "waited")],
    ["Finished", job.finished_at_ms, between(job.started_at_ms, job.finished_at_ms, "took")],
  ];
  return html`<h2>Timeline <small class="dim">(${zone})</small></h2><ol class="timeline">
    ${steps.map(([name, ms, note], place) => html`<li key=${place} class=${reached(job, place, ms) ? "reached" : ""}><strong>${name}</strong>
      ${ms === null ? html`<span class="dim">not yet</span>` : html`<${Instant} ms=${ms} both />`}
      ${ms !== null && note && html`<small class="dim">${note}</small>`}</li>`)}
  </ol>`;
}

const reached = (job, place, ms) => ms !== null && (place !== 1 || !["scheduled", "retryable"].includes(job.state));

const between = (from, until, word) => (from !== null && until !== null && until >= from ? `${word} ${span(until - from)}` : null);

function Fingerprint({ job }) {
  const mayWrite = useMayWrite();
  if (job.state === "quarantined") return html`<code>${job.fingerprint}</code> <a href=${linkTo("quarantine")}>in quarantine</a>`;
  const bar = () => ask(BarContent, { fingerprint: job.fingerprint }).then(told);
  return html`<code>${job.fingerprint}</code>${mayWrite && html` <button class="plain" onClick=${bar}>Bar this content</button>`}`;
}

/** A payload may hold what not everybody who looks on should read: it is fetched when somebody asks. */
function Payload({ id }) {
  const [found, setFound] = useState(null);
  const [problem, setProblem] = useState(null);
  const read = async () => {
    try {
      const job = await getExact(`/jobs/${segment(id)}?include_payload=true`);
      setFound({ payload: job.payload });
      setProblem(null);
    } catch (error) {
      setProblem(error);
    }
  };
  return html`<h2>Payload</h2>
    <${ProblemNote} problem=${problem} />
    ${found ? html`<pre tabindex="0" aria-label="payload">${JSON.stringify(found.payload, null, 2)}</pre>
        ${rounded(found.payload) && html`<p class="warn"><span aria-hidden="true">!</span> It has numbers that this browser rounds;
          ${" "}<a href=${url(`/jobs/${segment(id)}`, { include_payload: true })}>the answer itself</a> has them exactly.</p>`}
        <button onClick=${() => setFound(null)}>Hide the payload</button>`
      : html`<p class="dim">It is read only when asked for.</p><button onClick=${read}>Read the payload</button>`}`;
}

/** Whether a number is beyond what this browser can hold exactly: an older one knows no other numbers. */
function rounded(value) {
  if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value);
  return value !== null && typeof value === "object" && Object.values(value).some(rounded);
}
