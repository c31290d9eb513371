/** The dialog for what a queue lets through. All three limits are replaced together; an empty field is no limit. */

import { call, segment } from "../app/api.js";
import { html, useState } from "../app/dom.js";
import { Field, FormDialog } from "../ui/dialog.js";

const text = (number) => (number === null || number === undefined ? "" : String(number));
const number = (typed) => (typed.trim() === "" ? null : Number(typed));

export function Limits({ queue, done }) {
  const { max_concurrent: concurrent, max_unfinished: unfinished, rate_limit: rate } = queue.limits;
  const [typed, setTyped] = useState({
    concurrent: text(concurrent),
    unfinished: text(unfinished),
    limit: text(rate?.limit),
    window: text(rate?.window_ms ?? 1_000),
    burst: text(rate?.burst),
  });
  const rated = typed.limit.trim() !== "";
  const submit = () => call("PUT", `/queues/${segment(queue.name)}/limits`, { body: bodyOf(typed, rated) });
  const field = (name, min, more = {}) => html`<input type="number" step="1" min=${min} name=${name} value=${typed[name]} ...${more}
    onInput=${(event) => setTyped((before) => ({ ...before, [name]: event.target.value }))} />`;
  return html`<${FormDialog} title=${`Limits of ${queue.name}`} submitLabel="Set limits" submit=${submit} done=${done}>
    <p>They count from the next job that is to begin; what runs or waits already is left alone. Empty means no limit.</p>
    <${Field} label="Most that run at once" hint="in all processes together; 0 lets none begin">${field("concurrent", 0)}<//>
    <${Field} label="Most that wait or run" hint="beyond it enqueuing is refused, and ticks stay due">${field("unfinished", 0)}<//>
    <fieldset><legend>How fast jobs may begin</legend>
      <div class="columns">
        <${Field} label="Jobs" hint="in each window">${field("limit", 1)}<//>
        <${Field} label="Window in ms" hint="1000 is a second">${field("window", 1, { required: rated, disabled: !rated })}<//>
      </div>
      <${Field} label="Burst" hint="most that may begin at once after a rest; as many as in a window if empty">
        ${field("burst", 1, { disabled: !rated })}<//>
    </fieldset>
  <//>`;
}

function bodyOf(typed, rated) {
  const rate = { limit: number(typed.limit), window_ms: number(typed.window), burst: number(typed.burst) };
  return { max_concurrent: number(typed.concurrent), max_unfinished: number(typed.unfinished), rate_limit: rated ? rate : null };
}
