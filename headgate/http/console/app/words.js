/** Words and signs for what the server says in codes. What a spec means is said by the server alone. */

/** Missed-run policies: a name, and what it does. */
export const POLICIES = {
  skip: ["Skip backlog", () => "If ticks were missed, only the latest one runs; the older ones are recorded and dropped."],
  run_once: ["Run once", () => "However many ticks were missed, the work is made up for by one run, that of the latest."],
  backfill: ["Backfill", (limit) => `The ${limit} latest missed ticks run, oldest first; older ones are recorded and dropped.`],
};

export function policyName(schedule) {
  const [name] = POLICIES[schedule.on_missed];
  return schedule.on_missed === "backfill" ? `${name} up to ${schedule.backfill_limit}` : name;
}

export const policyText = (schedule) => POLICIES[schedule.on_missed][1](schedule.backfill_limit);

/** Outcomes of ticks: the letter of the record, the word, the sign, and a tone of the style sheet. */
export const OUTCOMES = {
  e: ["enqueued", "●", "good"],
  d: ["deduplicated", "◐", "calm"],
  s: ["skipped", "○", "warn"],
  f: ["failed", "✕", "bad"],
};

export const outcomeOf = (word) => OUTCOMES[word[0]] ?? [word, "?", "calm"];

/** States of jobs: a sign and a tone. */
export const JOB_STATES = {
  scheduled: ["◷", "calm"],
  available: ["▸", "calm"],
  running: ["▶", "live"],
  retryable: ["↻", "warn"],
  quarantined: ["⊘", "bad"],
  completed: ["✓", "good"],
  archived: ["✕", "bad"],
  cancelled: ["–", "calm"],
  undecodable: ["!", "bad"],
};

/** What it means for a job to be in a state. */
export const JOB_STATE_TEXTS = {
  scheduled: "They wait for the instant that they were asked to run at.",
  available: "They may run as soon as the gate of their queue lets them, the first on the list first.",
  running: "A worker has them.",
  retryable: "They wait for their next attempt, or for a worker that knows their kind.",
  quarantined: "They are set aside: their content is barred until somebody releases it.",
  completed: "They are done, and kept for a while.",
  archived: "Their attempts are used up, or their deadline has passed: the dead letters.",
  cancelled: "Their actor said that another attempt is not worth it, or somebody here did.",
  undecodable: "Their payload does not fit their actor; another attempt would not change that.",
};

/** The same of one job. */
export const JOB_STATE_TEXT = {
  scheduled: "It waits for the instant that it was asked to run at.",
  available: "It may run as soon as the gate of its queue lets it.",
  running: "A worker has it.",
  retryable: "It waits for its next attempt, or for a worker that knows its kind.",
  quarantined: "It is set aside: its content is barred until somebody releases it.",
  completed: "It is done, and kept for a while.",
  archived: "Its attempts are used up, or its deadline has passed.",
  cancelled: "Its actor said that another attempt is not worth it, or somebody here did.",
  undecodable: "Its payload does not fit its actor. The worker's log names the field (job.undecodable).",
};

/** Whether a job has ended: it leaves that state by somebody's word alone. */
export const isFinal = (state) => ["completed", "archived", "cancelled", "undecodable"].includes(state);

/** States of jobs that did not do their work and will not, unless somebody retries them. */
export const FAILED_FOR_GOOD = ["archived", "undecodable"];

/** Why content is in quarantine. */
export const QUARANTINE_WHYS = {
  crash_limit: "Its jobs crashed their workers again and again.",
  operator: "Somebody barred it.",
};

/** How a schedule stands: sign, word, tone. */
export function stateOf(schedule) {
  if (schedule.failure) return ["✕", "failing", "bad"];
  if (schedule.paused) return ["❚❚", "paused", "warn"];
  if (schedule.finished) return ["■", "finished", "calm"];
  return ["▶", "active", "good"];
}

/** What stands in the way of a job. */
export const BLOCKERS = {
  quarantine: "Its content is quarantined; release its fingerprint.",
  not_due: "Its time has not come.",
  queue_paused: "Its queue is paused.",
  no_worker: "No process works on its queue and knows its kind.",
  concurrency: "Its queue runs as many jobs at once as it may.",
  rate_limit: "Its queue may begin no more jobs yet.",
};

/** 1 schedule, 2 schedules; `many` where the plural takes more than an s. */
export const counted = (number, word, many = `${word}s`) => `${number.toLocaleString("en")} ${number === 1 ? word : many}`;
