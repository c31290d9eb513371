/**
 * Native dialogs: the browser keeps the focus inside, and Escape closes. Whoever had the focus before has it again after.
 *
 * `ask(Component, props)` shows one; the component gets `done(result)`, which closes it.
 */

import { html, useEffect, useId, useRef, useState } from "../app/dom.js";
import { ProblemNote } from "./parts.js";

/** @type {(shown: {Body: any, props: any, settle: (result: any) => void} | null) => void} */
let show = () => {};

/** Show a dialog; the promise has what it was closed with, null for a cancel. */
export function ask(Body, props = {}) {
  return new Promise((settle) => show({ Body, props, settle }));
}

/** Where dialogs appear; one for the page. */
export function DialogHost() {
  const [shown, setShown] = useState(null);
  const before = useRef(null);
  show = (next) => {
    before.current ??= document.activeElement;
    setShown(next);
  };
  useEffect(() => {
    if (shown) return;
    before.current?.focus({ preventScroll: true }); // the browser does so for one that is closed, not for one that is taken away
    before.current = null;
  }, [shown]);
  if (!shown) return null;
  const done = (result = null) => {
    setShown(null);
    shown.settle(result);
  };
  return html`<${shown.Body} ...${shown.props} done=${done} />`;
}

/**
 * A dialog with a form. `submit` does the work: it returns the result, or throws a problem, which is shown; while it is
 * under way the button does nothing, so that a double click is one request. `closeOnly`: it tells, and there is nothing to cancel.
 */
export function FormDialog({ title, submitLabel, submit, done, danger = false, disabled = false, wide = false, closeOnly = false, children }) {
  const ref = useRef(null);
  const name = useId();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const under = useRef(false);
  useEffect(() => {
    ref.current.showModal();
    const leave = () => under.current || done(null); // what it is about is out of sight
    addEventListener("hashchange", leave);
    return () => removeEventListener("hashchange", leave);
  }, []);
  const onSubmit = async (event) => {
    event.preventDefault();
    if (under.current || disabled) return;
    under.current = true;
    setBusy(true);
    setProblem(null);
    try {
      done(await submit());
    } catch (error) {
      setProblem(error);
      under.current = false;
      setBusy(false);
    }
  };
  return html`<dialog ref=${ref} class=${wide ? "wide" : ""} aria-labelledby=${name}
    onCancel=${(event) => { event.preventDefault(); if (!busy) done(null); }}>
    <form onSubmit=${onSubmit} onInput=${() => setProblem(null)}>
      <h2 id=${name}>${title}</h2>
      ${children}
      <${ProblemNote} problem=${problem} />
      <div class="actions">
        ${!closeOnly && html`<button type="button" onClick=${() => done(null)} disabled=${busy}>Cancel</button>`}
        <button type="submit" class=${danger ? "danger" : "primary"} disabled=${busy || disabled}>
          ${busy ? "Working…" : submitLabel}</button>
      </div>
    </form>
  </dialog>`;
}

/** A labelled control. `hint` says the rule; `problem` is shown in its place. */
export function Field({ label, hint, problem, children }) {
  return html`<label class="field"><span>${label}</span>${children}
    ${problem ? html`<small class="bad" role="alert">${problem}</small>` : hint && html`<small class="dim">${hint}</small>`}</label>`;
}
