/** The form that creates a schedule and edits one. A PUT replaces the whole definition, so all of it is read and sent back. */

import { call, Problem, segment } from "../app/api.js";
import { html, useEffect, useRef, useState } from "../app/dom.js";
import { refresh } from "../app/live.js";
import { FormDialog } from "../ui/dialog.js";
import { Loading, ProblemNote } from "../ui/parts.js";
import { say } from "../ui/toast.js";
import { Chosen, Conflict } from "./conflict.js";
import { ADVANCED, definitionOf, draftOf } from "./draft.js";
import { Advanced, Basics } from "./editfields.js";
import { getExact } from "./exact.js";
import { usePreview } from "./preview.js";

const pathOf = (id) => `/periodic/${segment(id)}`;
const CHECK = { code: "invalid_form", status: 0, detail: "Nothing was sent: a field needs another look." };

/** A dialog; it is done with the schedule as it was saved. @param {{schedule?: {id: string}, done: (result: any) => void}} props */
export function Edit({ schedule, done }) {
  const [read, setRead] = useState({ found: null, problem: null });
  useEffect(() => {
    if (!schedule) return;
    getExact(pathOf(schedule.id)).then((found) => setRead({ found, problem: null }), (problem) => setRead({ found: null, problem }));
  }, []);
  if (!schedule) return html`<${Form} done=${done} />`;
  if (read.found) return html`<${Form} found=${read.found} done=${done} />`;
  return html`<${FormDialog} title=${`Edit ${schedule.id}`} submitLabel="Save" submit=${async () => null} done=${done} disabled wide>
    ${read.problem ? html`<${ProblemNote} problem=${read.problem} />` : html`<${Loading} />`}<//>`;
}

function Form({ found = null, done }) {
  const isNew = found === null;
  /** What the draft began as: its text by field, and the revision that a write insists on, null for none at all. */
  const [base, setBase] = useState({ draft: draftOf(found ?? undefined), revision: found?.revision ?? null });
  const [draft, setDraft] = useState({ id: found?.id ?? "", ...base.draft });
  const [refused, setRefused] = useState({});
  const [conflict, setConflict] = useState(null);
  const [chosen, setChosen] = useState(null);
  const [paused, setPaused] = useState(false);
  const [open, setOpen] = useState(false);
  const { body, problems } = definitionOf(draft);
  const { preview, problem } = usePreview(body);
  /** Of the latest spec that could be read: while one types, bounds stay on its clock. */
  const zone = useRef(found?.zone ?? "");
  if (preview) zone.current = preview.zone;
  const shown = { ...(problem && { [problem.field ?? "spec"]: problem.message }), ...problems, ...refused };
  const set = (name, value) => {
    setDraft((before) => ({ ...before, [name]: value }));
    setRefused(({ [name]: _gone, ...rest }) => rest);
  };
  const showAt = useField(setOpen);
  const refuse = (field, message) => {
    setRefused((before) => ({ ...before, [field]: message }));
    showAt(field);
  };

  const submit = async () => {
    setChosen(null);
    const [wrong] = Object.keys(problems);
    if (wrong) {
      showAt(wrong);
      throw new Problem({ ...CHECK, field: wrong });
    }
    const headers = base.revision === null ? { "If-None-Match": "*" } : { "If-Match": `"${base.revision}"` };
    try {
      const saved = await call("PUT", pathOf(draft.id), { body: isNew ? { ...body, paused } : body, headers });
      say(`${saved.id} is ${base.revision === null ? "created" : "saved"}.`);
      refresh();
      return saved;
    } catch (error) {
      if (error.code === "revision_mismatch" && isNew) refuse("id", "There is a schedule with this id already.");
      else if (error.code === "revision_mismatch") await meet(error.current);
      else if (error.field in draft) refuse(error.field, error.message);
      throw error.code === "revision_mismatch" && !isNew ? null : error; // what the conflict shows says it all
    }
  };

  /** The `current` of the problem lacks payload and headers, which may be what they changed. */
  const meet = async (current) => {
    const theirs = current && (await getExact(pathOf(draft.id)).catch(orGone));
    setConflict({ draft: theirs && draftOf(theirs), revision: theirs?.revision ?? null });
  };
  const choose = (next, whose) => {
    if (conflict.draft) setBase(conflict);
    else setBase({ ...base, revision: null });
    setDraft({ ...next, id: draft.id });
    setRefused({});
    setConflict(null);
    setChosen(whose);
  };

  const form = { draft, set, problems: shown };
  const title = isNew ? "New schedule" : `Edit ${found.id}`;
  const label = base.revision === null ? "Create" : "Save";
  return html`<${FormDialog} title=${title} submitLabel=${label} submit=${submit} done=${done}
      disabled=${conflict !== null} wide>
    <${Basics} form=${form} isNew=${isNew} preview=${preview} />
    ${isNew && html`<label class="choice">
      <input type="checkbox" name="paused" checked=${paused} onChange=${(event) => setPaused(event.target.checked)} />
      <span>Begin paused<br /><small class="dim">It fires nothing until somebody resumes it.</small></span></label>`}
    <details open=${open} onToggle=${(event) => setOpen(event.target.open)}><summary>Advanced: limits, bounds, overlap, headers</summary>
      <${Advanced} form=${form} zone=${zone.current} /></details>
    ${conflict && html`<${Conflict} base=${base.draft} mine=${draft} theirs=${conflict.draft} zone=${found.zone}
      choose=${choose} />`}
    ${chosen && html`<${Chosen} whose=${chosen} label=${label} />`}
  <//>`;
}

/** Bring a field into view and give it the focus, once what hides it is open. */
function useField(setOpen) {
  const [wanted, setWanted] = useState({ field: null });
  useEffect(() => {
    if (wanted.field) document.querySelector("dialog[open] form")?.elements[wanted.field]?.focus?.();
  }, [wanted]);
  return (field) => {
    setWanted({ field });
    if (ADVANCED.includes(field)) setOpen(true);
  };
}

function orGone(problem) {
  if (problem.code === "schedule_not_found") return null;
  throw problem;
}
