/** Making up for ticks that did not run: first a dry run, which says how many, and then the real one, of the very same range. */

import { call, newKey, segment } from "../app/api.js";
import { html, useEffect, useMemo, useState } from "../app/dom.js";
import { refresh } from "../app/live.js";
import { zoneName } from "../app/time.js";
import { counted } from "../app/words.js";
import { Field, FormDialog, ask } from "../ui/dialog.js";
import { Facts, ProblemNote } from "../ui/parts.js";
import { useClock, useZone } from "./fields.js";
import { InstantInput } from "./instants.js";

const PAUSE_MS = 300;

/** Ask for a range, make up for it, show what came of that, and go on where it ended early if that is wished. */
export async function makeUp({ id, zone, fromMs = null, untilMs = null }) {
  let from = fromMs;
  for (;;) {
    const made = await ask(Backfill, { id, zone, fromMs: from, untilMs });
    if (!made) return;
    refresh();
    const goOn = await ask(Result, { id, zone, result: made.result });
    if (!goOn) return;
    from = made.result.more_after_ms + 1;
    untilMs = made.untilMs;
  }
}

function Backfill({ id, zone, fromMs, untilMs, done }) {
  const [from, setFrom] = useState(fromMs);
  const [until, setUntil] = useState(untilMs);
  const typedIn = useZone(zone);
  const [force, setForce] = useState(false);
  const ready = from !== null && until !== null;
  const body = { after_ms: Math.max(0, (from ?? 1) - 1), until_ms: until, force };
  const wanted = JSON.stringify(body);
  // A key stands for one request: another range is another request. A repeat after a lost answer is the same one.
  const key = useMemo(newKey, [wanted]);
  const path = `/periodic/${segment(id)}/backfill`;
  const { dry, problem } = useDryRun(path, ready ? wanted : null);
  const submit = async () => {
    const result = await call("POST", path, { body, headers: { "Idempotency-Key": key } });
    return { result, untilMs: until };
  };
  const count = dry?.ticks.length ?? 0;
  return html`<${FormDialog} title=${`Backfill ${id}`} submit=${submit} done=${done} disabled=${!count}
      submitLabel=${count ? `Enqueue ${counted(count, "job")}` : "Enqueue"}>
    <p>Ticks of the past that did not run become jobs, oldest first and each once. The next run stays where it is.</p>
    <${Field} label="From" hint=${`on the clock of ${zoneName(typedIn)}`} problem=${problem?.field === "after_ms" ? problem.message : null}>
      <${InstantInput} name="from" required zone=${typedIn} ms=${from} onChange=${setFrom} /><//>
    <${Field} label="Until" hint=${`on the clock of ${zoneName(typedIn)}; this instant too`} problem=${problem?.field === "until_ms" ? problem.message : null}>
      <${InstantInput} name="until" required zone=${typedIn} ms=${until} onChange=${setUntil} /><//>
    <label class="choice"><input type="checkbox" name="force" checked=${force} onChange=${(event) => setForce(event.target.checked)} />
      <span>Also those of which nobody knows any more whether they ran<br />
        <small class="dim">Some may run for the second time.</small></span></label>
    <div role="status" data-dry-run=${dry ? count : null}>
      ${!ready && html`<p class="dim">Name a range, and what it holds is counted before anything is done.</p>`}
      ${ready && !dry && !problem && html`<p class="dim">Counting…</p>`}
      ${dry && html`<p><strong>${verdict(count)}</strong></p><${Counts} result=${dry} zone=${zone} />`}
    </div>
    ${problem && !["after_ms", "until_ms"].includes(problem.field) && html`<${ProblemNote} problem=${problem} />`}
  <//>`;
}

function verdict(count) {
  if (!count) return "Nothing to make up for in this range.";
  return `${counted(count, "tick")} would become ${count === 1 ? "a job" : "jobs"}.`;
}

/** What a backfill of this body would do: the answer belongs to the body that is asked for now, or is null. */
function useDryRun(path, wanted) {
  const [found, setFound] = useState({ wanted: null, dry: null, problem: null });
  useEffect(() => {
    if (wanted === null) return undefined;
    const ended = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const dry = await call("POST", path, { body: { ...JSON.parse(wanted), dry_run: true }, signal: ended.signal });
        setFound({ wanted, dry, problem: null });
      } catch (problem) {
        if (!ended.signal.aborted) setFound({ wanted, dry: null, problem });
      }
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [path, wanted]);
  return found.wanted === wanted ? found : { dry: null, problem: null };
}

function Counts({ result, zone }) {
  const instant = useClock(zone);
  const { ticks } = result;
  return html`<${Facts} facts=${[
    ["First tick", ticks.length ? instant(ticks[0]) : null],
    ["Last tick", ticks.length > 1 ? instant(ticks.at(-1)) : null],
    ["Ran already, left alone", result.already_ran.toLocaleString("en")],
    ["Not known whether they ran", result.unknown.toLocaleString("en")],
    ["Goes on after", result.more_after_ms === null ? null : instant(result.more_after_ms)],
  ]} />`;
}

/** What a backfill did. It is done with true where it is to go on. */
function Result({ id, zone, result, done }) {
  const more = result.more_after_ms !== null;
  return html`<${FormDialog} title=${`${counted(result.ticks.length, "job")} of ${id} enqueued`} submitLabel=${more ? "Go on…" : "Close"}
      submit=${async () => more} done=${done} closeOnly=${!more}>
    ${result.stopped_by && html`<div class="note warn"><p>It ended early, because of <code>${result.stopped_by}</code>. What is left
      stays a gap.</p></div>`}
    ${more && !result.stopped_by && html`<p>One request takes 1,000 ticks at most, and more are left in the range.</p>`}
    ${result.replayed && html`<p>This was done before: it is the answer of then, and nothing was enqueued twice.</p>`}
    <${Counts} result=${result} zone=${zone} />
  <//>`;
}
