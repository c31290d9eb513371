/** Why a job is not running, in words; the server judges, and says from when it may. */

import { segment } from "../app/api.js";
import { html } from "../app/dom.js";
import { useRead } from "../app/live.js";
import { linkTo } from "../app/route.js";
import { span } from "../app/time.js";
import { BLOCKERS, counted } from "../app/words.js";
import { Badge, Facts, Found, Instant } from "../ui/parts.js";

const LOOK_MS = 3_000;

export function Admission({ job }) {
  const read = useRead(`/jobs/${segment(job.id)}/admission`, {}, { heeds: (hint) => hint.kind === "job" && hint.id === job.id, every: LOOK_MS });
  return html`<h2>Why it is not running</h2>
    <${Found} read=${read}>${(found) => html`<${Verdict} found=${found} job=${job} />`}<//>`;
}

function Verdict({ found, job }) {
  const { blocked_by: blocker, estimate_ms: estimate } = found;
  const tone = blocker === null || blocker === "not_due" ? "calm" : "warn";
  return html`<div class=${`note ${tone}`}>
    <p><strong>${sentence(found)}</strong> <${Help} blocker=${blocker} found=${found} job=${job} /></p>
    ${blocker && html`<p>${estimate === null ? "From when it may run depends on that, and nobody can say."
      : html`It may run from <${Instant} ms=${estimate} both />, as far as the clock and the rate limit tell.`}</p>`}
  </div>
  <${Facts} facts=${[
    ["Jobs before it", found.ahead?.toLocaleString("en")],
    ["Running in its queue", found.max_concurrent === null ? found.running : `${found.running} of ${found.max_concurrent} at most`],
    ["Rate limit", found.rate_limit && `${rate(found.rate_limit)}; ${Math.floor(found.tokens ?? 0)} may begin now`],
    ["Processes that may run it", `${found.workers} of ${found.workers_of_queue} that work on its queue`],
    ["Its queue", found.queue_paused_since_ms !== null && html`<${Badge} sign="❚❚" word="paused" tone="warn" />`],
  ].filter(([, value]) => value !== false)} />`;
}

function sentence({ blocked_by: blocker, admissible }) {
  if (blocker) return BLOCKERS[blocker] ?? blocker;
  return admissible ? "Nothing stands in its way: a worker that asks now may be given it." : "It does not wait any more.";
}

/** What helps, for each of what may stand in the way. */
function Help({ blocker, found, job }) {
  if (blocker === "quarantine") return html`<a href=${linkTo("quarantine")}>To the quarantine</a>.`;
  if (blocker === "not_due") return html`That is <${Instant} ms=${found.available_at_ms} both />.`;
  if (blocker === "queue_paused") {
    return html`Since <${Instant} ms=${found.queue_paused_since_ms} both />; <a href=${linkTo("queues")}>resume ${job.queue}</a>.`;
  }
  if (blocker === "no_worker") {
    if (!found.workers_of_queue) return html`Start a worker for <code>${job.queue}</code>; <a href=${linkTo("system")}>these live</a>.`;
    return html`${counted(found.workers_of_queue, "process works", "processes work")} on the queue,
      ${" "}none with an actor for <code>${job.kind}</code>.`;
  }
  if (blocker === "concurrency") return html`That is ${found.max_concurrent}; <a href=${linkTo("queues")}>see its limits</a>.`;
  if (blocker === "rate_limit") return html`<a href=${linkTo("queues")}>See its limits</a>.`;
  return null;
}

/** A rate limit in words: "10 each second, bursts of up to 20". */
export function rate({ limit, window_ms: window, burst }) {
  const pace = `${limit.toLocaleString("en")} each ${window === 1_000 ? "second" : span(window)}`;
  return burst === null || burst === limit ? pace : `${pace}, bursts of up to ${burst.toLocaleString("en")}`;
}
