/** Jobs of a queue in one state, or of a schedule's ticks. Which is in the address. */

import { segment } from "../app/api.js";
import { html, useEffect } from "../app/dom.js";
import { useRead } from "../app/live.js";
import { useMayWrite } from "../app/may.js";
import { linkTo, setParams } from "../app/route.js";
import { JOB_STATES, JOB_STATE_TEXTS, counted, isFinal } from "../app/words.js";
import { Empty, Found, Instant, JobState, Pager } from "../ui/parts.js";
import { JobActions } from "./job_actions.js";

const SIZE = 50;
const QUEUES = 200;
const STATES = Object.keys(JOB_STATES);
/** Which state is shown first: what is going on before what is over. */
const TELLING = ["running", "retryable", "available", "quarantined", "scheduled", "archived", "undecodable", "completed", "cancelled"];

export function Jobs({ route }) {
  const schedule = route.params.get("schedule");
  return schedule ? html`<${OfSchedule} id=${schedule} params=${route.params} />` : html`<${OfQueue} params=${route.params} />`;
}

/** On the first page whatever changes may have come in; on a later one only what is there concerns it. */
const heeds = (cursor) => (hint, data) => hint.kind === "job" && (!cursor || !data || data.jobs.some((job) => job.id === hint.id));

function OfQueue({ params }) {
  const [queue, state, cursor] = ["queue", "state", "cursor"].map((name) => params.get(name) ?? "");
  const queues = useRead("/queues", { limit: QUEUES }, { heeds: () => false });
  const known = useRead(queue ? `/queues/${segment(queue)}` : null, {}, { heeds: (hint) => hint.kind === "job" });
  const read = useRead(queue && state ? "/jobs" : null, { queue, state, cursor, limit: SIZE }, { heeds: heeds(cursor) });
  const listed = queues.data?.queues ?? null;
  useEffect(() => {
    if (!listed || (queue && state)) return;
    const chosen = queue ? listed.find((each) => each.name === queue) : usual(listed);
    if (!queue && !chosen) return;
    const telling = TELLING.find((each) => chosen?.counts[each]) ?? "available";
    setParams({ queue: queue || chosen.name, state: state || telling, cursor: "" });
  }, [queue, state, listed]);
  return html`<section>
    <div class="heading"><h1>Jobs</h1>
      ${listed && queue && html`<${QueueChoice} queue=${queue} listed=${listed} more=${queues.data.next_cursor} />`}</div>
    ${queue && html`<${Tabs} queue=${queue} state=${state} counts=${known.data?.counts ?? {}} />`}
    ${JOB_STATE_TEXTS[state] && html`<p class="lead">${JOB_STATE_TEXTS[state]}</p>`}
    ${queue && state ? html`<${List} read=${read} cursor=${cursor} empty=${html`<${NoneInState} queue=${queue} state=${state} />`} />`
      : html`<${Found} read=${queues}>${(page) => !page.queues.length && html`<${NoJobs} />`}<//>`}
  </section>`;
}

const usual = (queues) => queues.find((each) => each.name === "default") ?? queues[0];

function QueueChoice({ queue, listed, more }) {
  const names = listed.map((each) => each.name);
  if (!names.includes(queue)) names.unshift(queue);
  return html`<label>Queue <select value=${queue} onChange=${(event) => setParams({ queue: event.target.value, cursor: "" })}>
      ${names.map((name) => html`<option key=${name} value=${name} selected=${name === queue}>${name}</option>`)}
    </select>${more && html` <a href=${linkTo("queues")}>all queues</a>`}</label>`;
}

function Tabs({ queue, state, counts }) {
  return html`<nav class="tabs" aria-label="states">
    ${STATES.map((each) => html`<a key=${each} href=${linkTo("jobs", null, { queue, state: each })} aria-current=${each === state ? "page" : null}>
      <span aria-hidden="true" class=${JOB_STATES[each][1]}>${JOB_STATES[each][0]}</span> ${each}
      ${" "}<span class="count">${(counts[each] ?? 0).toLocaleString("en")}</span></a>`)}
  </nav>`;
}

function OfSchedule({ id, params }) {
  const cursor = params.get("cursor") ?? "";
  const read = useRead("/jobs", { periodic_schedule_id: id, cursor, limit: SIZE }, { heeds: heeds(cursor) });
  return html`<section>
    <div class="heading"><h1>Jobs of ${id}</h1>
      <span><a href=${linkTo("schedules", id)}>The schedule</a> · <a href=${linkTo("jobs")}>Jobs by queue</a></span></div>
    <p class="lead">The jobs that its newest ticks became, the latest first. What was enqueued by hand is on the schedule's page.</p>
    <${List} read=${read} cursor=${cursor} states empty=${html`<${Empty} title="No jobs of its ticks">
      It has not fired yet, its ticks made no job, or their jobs were removed after their retention.
      <a href=${linkTo("schedules", id)}>Its trail</a> says which.<//>`} />
  </section>`;
}

function List({ read, cursor, empty, states = false }) {
  return html`<${Found} read=${read}>${(page) => html`
    ${page.jobs.length ? html`<${Table} jobs=${page.jobs} states=${states} />`
      : cursor || page.next_cursor ? html`<p class="dim">None is left on this page.</p>` : empty}
    <${Pager} next=${page.next_cursor} first=${cursor} onFirst=${() => setParams({ cursor: "" })}
      onNext=${() => setParams({ cursor: page.next_cursor })} />
  `}<//>`;
}

function NoneInState({ queue, state }) {
  return html`<${Empty} title=${`Nothing in ${queue} is ${state}`}>The numbers beside the states say where its jobs are.<//>`;
}

function NoJobs() {
  return html`<${Empty} title="No jobs yet">
    A queue shows up with its first job: when a <a href=${linkTo("schedules")}>schedule</a> fires, or when somebody enqueues one by
    ${" "}<code>POST /api/v1/jobs</code>.<//>`;
}

function Table({ jobs, states }) {
  const mayWrite = useMayWrite();
  const wider = states || jobs.some((job) => job.last_error);
  return html`<div class="scroll"><table class="rows">
    <caption class="hidden">${counted(jobs.length, "job")}</caption>
    <thead><tr><th scope="col">Job</th>${states && html`<th scope="col">State</th>`}<th scope="col">When</th><th scope="col">Attempts</th>
      ${wider && html`<th scope="col">Last error</th>`}<th scope="col">From</th>
      ${mayWrite && html`<th scope="col"><span class="hidden">Actions</span></th>`}</tr></thead>
    <tbody>${jobs.map((job) => html`<${Row} key=${job.id} job=${job} states=${states} wider=${wider} mayWrite=${mayWrite} />`)}</tbody>
  </table></div>`;
}

function Row({ job, states, wider, mayWrite }) {
  const [word, ms] = since(job);
  return html`<tr data-row tabindex="-1">
    <td class="main"><a href=${linkTo("jobs", job.id)}>${job.id}</a><br /><span class="dim">${job.kind}${states && ` · ${job.queue}`}</span></td>
    ${states && html`<td data-label="State"><${JobState} state=${job.state} /></td>`}
    <td data-label="When">${word} <${Instant} ms=${ms} /></td>
    <td data-label="Attempts">${attempts(job)}</td>
    ${wider && html`<td data-label="Last error">${job.last_error ? html`<code>${job.last_error}</code>` : html`<span class="dim">—</span>`}</td>`}
    <td data-label="From"><${Origin} job=${job} /></td>
    ${mayWrite && html`<td><${JobActions} job=${job} /></td>`}
  </tr>`;
}

/** What brought a job about, as a link where there is one. */
function Origin({ job }) {
  const id = job.periodic_origin?.schedule_id ?? job.manual_schedule_id;
  if (!id) return html`<span class="dim">a request</span>`;
  return html`<a href=${linkTo("schedules", id)}>${id}</a>${job.manual_schedule_id && html` <span class="dim">by hand</span>`}`;
}

/** The instant that tells most of a job in its state, and what it is. */
function since(job) {
  if (isFinal(job.state)) return ["ended", job.finished_at_ms];
  if (job.state === "running") return ["started", job.started_at_ms];
  if (job.state === "quarantined") return ["enqueued", job.enqueued_at_ms];
  return ["due", job.available_at_ms];
}

/** Attempts that failed, and those whose worker was not heard of again. */
export function attempts(job) {
  const crashed = job.crash_attempt ? `, ${counted(job.crash_attempt, "crash", "crashes")}` : "";
  return `${job.attempt} of ${job.max_attempts} failed${crashed}`;
}
