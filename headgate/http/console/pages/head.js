/** What a schedule is and how it stands: in words first, then in facts. */

import { segment } from "../app/api.js";
import { html, useEffect, useState } from "../app/dom.js";
import { linkTo } from "../app/route.js";
import { span, zoneName } from "../app/time.js";
import { FAILED_FOR_GOOD, counted, policyName, policyText } from "../app/words.js";
import { Facts, Instant, Loading, ProblemNote, Sparkline } from "../ui/parts.js";
import { getExact } from "./exact.js";
import { NAMES, OVERLAPS, useZoneName } from "./fields.js";
import { LastTick } from "./schedules.js";

/** @param {{schedule: any, jobs: any[]|null}} props `jobs` of its latest ticks, null while they are not known */
export function Head({ schedule, jobs }) {
  return html`
    ${schedule.description && html`<p>${schedule.description}</p>`}
    <${Pause} schedule=${schedule} />
    <${Failure} schedule=${schedule} />
    <${FailedJobs} id=${schedule.id} jobs=${jobs} />
    <p><strong>${schedule.reading || "Its spec is refused now."}</strong> <code class="dim">${schedule.spec}</code></p>
    <p><strong>${policyName(schedule)}.</strong> ${policyText(schedule)}</p>
    <${Standing} schedule=${schedule} />
    <details><summary>All settings</summary><${Settings} schedule=${schedule} /></details>
    <${Content} schedule=${schedule} />`;
}

function Pause({ schedule }) {
  const { pause, zone } = schedule;
  if (!pause) return null;
  return html`<div class="note warn">
    <p><strong>Paused${pause.by ? ` by ${pause.by}` : ""}</strong>${pause.reason ? `: ${pause.reason}` : ", with no reason given."}</p>
    <p>Since ${pause.since_ms === null ? "it was created" : html`<${Instant} ms=${pause.since_ms} zone=${zone} both />`}
      ${pause.until_ms === null ? ", until somebody resumes it."
      : html`, until <${Instant} ms=${pause.until_ms} zone=${zone} both />.`}</p>
  </div>`;
}

function Failure({ schedule }) {
  const { failure, zone } = schedule;
  if (!failure) return null;
  return html`<div class="note bad">
    <p><strong>Its tick of <${Instant} ms=${failure.tick_ms} zone=${zone} both /> does not get through: <code>${failure.reason}</code></strong></p>
    <p>Tried ${failure.attempts === 1 ? "once" : `${failure.attempts} times`}, first <${Instant} ms=${failure.since_ms} zone=${zone} />; tried
      again <${Instant} ms=${failure.retry_at_ms} zone=${zone} />.${" "}
      <a href=${linkTo("schedules", schedule.id, { tab: "explain", tick: failure.tick_ms })}>Explain</a></p>
  </div>`;
}

/** A tick that became a job is a success of the schedule alone: what became of the job is another matter. */
function FailedJobs({ id, jobs }) {
  const count = jobs?.filter((job) => FAILED_FOR_GOOD.includes(job.state)).length ?? 0;
  if (!count) return null;
  return html`<div class="note bad"><p><strong><span class="bad" aria-hidden="true">✕</span> ${count} of its latest jobs failed for good.</strong>
    ${" "}<a href=${linkTo("jobs", null, { schedule: id })}>See its jobs</a></p></div>`;
}

function Standing({ schedule }) {
  const { zone } = schedule;
  const next = `Next tick (${useZoneName(zone)})`;
  return html`<div class="standing"><${Facts} facts=${[
    [next, html`<${Instant} ms=${schedule.paused ? null : schedule.next_run_ms} zone=${zone} both />`],
    ["Last tick", html`<${LastTick} schedule=${schedule} />`],
    ["Last 30", html`<${Sparkline} outcomes=${schedule.outcomes} />`],
    ["Kind", html`<code>${schedule.kind}</code>`],
    ["Queue", html`<a href=${linkTo("jobs", null, { queue: schedule.queue })}>${schedule.queue}</a>`],
    ["Jobs", html`<a href=${linkTo("jobs", null, { schedule: schedule.id })}>of its latest ticks</a>`],
    ["Clock of its spec", zoneName(zone)],
  ]} /></div>`;
}

function Settings({ schedule }) {
  const { zone } = schedule;
  const instant = (ms) => (ms === null ? null : html`<${Instant} ms=${ms} zone=${zone} both />`);
  const length = (ms) => (ms === null ? null : span(ms));
  const labels = Object.entries(schedule.labels);
  return html`<${Facts} facts=${[
      [NAMES.overlap, html`${OVERLAPS[schedule.overlap][0]}<br /><small class="dim">${OVERLAPS[schedule.overlap][1]}</small>`],
      [NAMES.max_attempts, counted(schedule.max_attempts, "attempt")],
      [NAMES.priority, schedule.priority],
      [NAMES.timeout_ms, length(schedule.timeout_ms)],
      [NAMES.retention_ms, length(schedule.retention_ms)],
      [NAMES.starts_at_ms, instant(schedule.starts_at_ms)],
      [NAMES.ends_at_ms, instant(schedule.ends_at_ms)],
      [NAMES.jitter_ms, schedule.jitter_ms ? `up to ${span(schedule.jitter_ms)}` : null],
      [NAMES.max_lateness_ms, length(schedule.max_lateness_ms)],
      [NAMES.deadline_ms, length(schedule.deadline_ms)],
      [NAMES.unique_key, schedule.unique_key && html`<code>${schedule.unique_key}</code>`],
      [NAMES.labels, labels.length ? labels.map(labelLink) : null],
      [NAMES.owner, schedule.owner],
      ["Revision", schedule.revision],
      ["Created", instant(schedule.created_at_ms)],
      ["Updated", instant(schedule.updated_at_ms)],
      ["Fingerprint", html`<a href=${linkTo("quarantine")}><code>${schedule.fingerprint}</code></a>`],
    ]} />
`;
}

function labelLink([name, value]) {
  const label = `${name}=${value}`;
  return html`<a key=${name} href=${linkTo("schedules", null, { label })}>${label}</a> `;
}

/** Payload and headers, once somebody asks: as they are written, which this browser's numbers might not be. */
function Content({ schedule }) {
  const [open, setOpen] = useState(false);
  const [read, setRead] = useState({ found: null, problem: null });
  const path = `/periodic/${segment(schedule.id)}`;
  useEffect(() => {
    if (open) getExact(path).then((found) => setRead({ found, problem: null }), (problem) => setRead({ found: null, problem }));
  }, [open, path, schedule.revision]);
  const { found, problem } = read;
  return html`<details open=${open} onToggle=${(event) => setOpen(event.target.open)}><summary>Payload and headers</summary>
    <${ProblemNote} problem=${problem} />
    ${open && !found && !problem && html`<${Loading} />`}
    ${found && html`<h2>Payload</h2><pre tabindex="0">${JSON.stringify(found.payload, null, 2)}</pre>
      <h2>Headers</h2><pre tabindex="0">${JSON.stringify(found.headers, null, 2)}</pre>`}</details>`;
}
