/** The fields of the form. Each shows the rule it has, or in its place what is wrong with it. */

import { html } from "../app/dom.js";
import { span, zoneName } from "../app/time.js";
import { POLICIES } from "../app/words.js";
import { Field } from "../ui/dialog.js";
import { NAMES, OVERLAPS, useZone } from "./fields.js";
import { InstantInput } from "./instants.js";
import { Preview } from "./preview.js";

/** As the server has it; a browser reads it in its strict mode, where braces are escaped. */
const ID = String.raw`[A-Za-z0-9._:@\{\}\-]+`;
const ID_RULE = "1 to 200 letters, digits and . _ : @ { } - ; it cannot be changed later";

/** @typedef {{draft: Record<string, string>, set: (name: string, value: string) => void, problems: Record<string, string>}} Form */

/** @param {{name: string, form: Form, label?: string, hint?: any, area?: boolean}} props */
function Control({ name, form, label = NAMES[name], hint, area = false, ...rest }) {
  const { draft, set, problems } = form;
  const shared = { name, value: draft[name], onInput: (event) => set(name, event.target.value), spellcheck: false, ...rest };
  shared["aria-invalid"] = problems[name] ? "true" : null;
  return html`<${Field} label=${label} hint=${hint} problem=${problems[name]}>
    ${area ? html`<textarea ...${shared} />` : html`<input autocomplete="off" ...${shared} />`}<//>`;
}

/** A length of time in ms, which it also says in words. */
function Length({ name, form, hint }) {
  const ms = Number(form.draft[name]);
  const words = form.draft[name].trim() && ms >= 0 ? `${span(ms)}: ` : "";
  return html`<${Control} name=${name} form=${form} label=${`${NAMES[name]}, in ms`} hint=${`${words}${hint}`} inputmode="numeric" />`;
}

function Moment({ name, form, zone, hint }) {
  const typedIn = useZone(zone);
  const { draft, set, problems } = form;
  const ms = draft[name] === "" ? null : Number(draft[name]);
  return html`<${Field} label=${NAMES[name]} hint=${`${hint}; on the clock of ${zoneName(typedIn)}`} problem=${problems[name]}>
    <${InstantInput} name=${name} zone=${typedIn} ms=${ms} onChange=${(next) => set(name, next === null ? "" : String(next))} /><//>`;
}

/** @param {{form: Form, isNew: boolean, preview: any}} props */
export function Basics({ form, isNew, preview }) {
  return html`
    ${isNew && html`<${Control} name="id" label="Id" form=${form} required maxlength="200" pattern=${ID} title=${ID_RULE} hint=${ID_RULE} />`}
    <${Control} name="spec" form=${form} required
      hint="@every:60000, in ms; or five or six cron fields, with CRON_TZ=Europe/Berlin before them for another clock than UTC" />
    <${Preview} preview=${preview} />
    <div class="columns">
      <${Control} name="kind" form=${form} required hint="which actor runs it" />
      <${Control} name="queue" form=${form} required hint="where workers look for it" />
    </div>
    <${Control} name="payload" area form=${form} hint="any JSON, which the actor receives; empty: null" />
    <${Missed} form=${form} />
    <${Control} name="description" form=${form} spellcheck hint="for people" maxlength="1000" />
    <${Control} name="labels" area form=${form} hint="a name=value in each line, to find it by" />`;
}

function Missed({ form }) {
  const { draft, set, problems } = form;
  const limit = draft.backfill_limit || "…";
  return html`<fieldset><legend>${NAMES.on_missed}</legend>
    ${Object.entries(POLICIES).map(([value, [name, what]]) => html`<label class="choice" key=${value}>
      <input type="radio" name="on_missed" value=${value} checked=${draft.on_missed === value} onChange=${() => set("on_missed", value)} />
      <span>${value === "backfill" ? `${name} up to ${limit}` : name}<br /><small class="dim">${what(limit)}</small></span></label>`)}
    ${problems.on_missed && html`<small class="bad">${problems.on_missed}</small>`}
    ${draft.on_missed === "backfill" && html`<${Control} name="backfill_limit" form=${form} hint="1 to 1000" inputmode="numeric" />`}
  </fieldset>`;
}

/** @param {{form: Form, zone: string}} props `zone` of its spec */
export function Advanced({ form, zone }) {
  const { draft, set, problems } = form;
  return html`
    <${Field} label=${NAMES.overlap} hint=${OVERLAPS[draft.overlap]?.[1]} problem=${problems.overlap}>
      <select name="overlap" value=${draft.overlap} onChange=${(event) => set("overlap", event.target.value)}>
        ${Object.entries(OVERLAPS).map(([value, [name]]) => html`<option value=${value}>${name}</option>`)}
      </select><//>
    <div class="columns">
      <${Control} name="priority" form=${form} hint="-100 to 100; a step is a head start of one minute" inputmode="numeric" />
      <${Control} name="max_attempts" form=${form} hint="1 to 100, in all" inputmode="numeric" />
      <${Length} name="timeout_ms" form=${form} hint="longest run of one attempt" />
      <${Length} name="retention_ms" form=${form} hint="how long a completed job is kept" />
      <${Moment} name="starts_at_ms" form=${form} zone=${zone} hint="no tick before" />
      <${Moment} name="ends_at_ms" form=${form} zone=${zone} hint="no tick after" />
      <${Length} name="jitter_ms" form=${form} hint="a job may run up to so much later than its tick" />
      <${Length} name="max_lateness_ms" form=${form} hint="a tick looked at later than that makes no job; empty: never" />
      <${Length} name="deadline_ms" form=${form} hint="how long after its tick a job is worth running; empty: for ever" />
      <${Control} name="unique_key" form=${form} hint="while an unfinished job holds it, a tick makes no job; empty: none" />
    </div>
    <${Control} name="headers" area form=${form} hint="texts by name as JSON, for the actor's context; empty: none" />
    <${Control} name="owner" form=${form} hint="who declares it: an application replaces what it owns when it starts" />`;
}
