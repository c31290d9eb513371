/** Short words about what was done; a problem with its code and request id stays until it is put away. */

import { Problem } from "../app/api.js";
import { html, useEffect, useState } from "../app/dom.js";

const STAY_MS = 6_000;
let add = () => {};
let last = 0;

/** Say that something was done. */
export const say = (text) => add({ id: ++last, text, problem: null });

/** Say that something could not be done. @param {unknown} problem */
export function complain(problem) {
  const told = problem instanceof Problem ? problem : new Problem({ code: "page_error", status: 0, detail: String(problem) });
  add({ id: ++last, text: told.message, problem: told });
}

export function ToastHost() {
  const [toasts, setToasts] = useState([]);
  const drop = (id) => setToasts((all) => all.filter((each) => each.id !== id));
  add = (toast) => setToasts((all) => [...all.slice(-4), toast]);
  return html`<div class="toasts" role="region" aria-label="messages" aria-live="polite">
    ${toasts.map((toast) => html`<${Toast} key=${toast.id} toast=${toast} drop=${() => drop(toast.id)} />`)}
  </div>`;
}

function Toast({ toast, drop }) {
  const { text, problem } = toast;
  useEffect(() => {
    const timer = problem ? null : setTimeout(drop, STAY_MS);
    return () => clearTimeout(timer);
  }, []);
  return html`<div class=${`toast ${problem ? "bad" : "good"}`} role=${problem ? "alert" : "status"}>
    <p>${text}${problem && html`<br /><small><code>${problem.code}</code>
      ${problem.requestId && html` · request <code>${problem.requestId}</code>`}</small>`}</p>
    <button class="plain" aria-label="put away" onClick=${drop}>✕</button>
  </div>`;
}
