/** Somebody else wrote meanwhile: what they changed, beside what was read before and what I have, and the choice. */

import { html, useEffect, useRef } from "../app/dom.js";
import { NAMES, useClock, worded } from "./fields.js";
import { merged } from "./draft.js";

/**
 * @param {{base: Record<string, string>, mine: Record<string, string>, theirs: Record<string, string>|null, zone: string,
 *   choose: (draft: Record<string, string>|null, whose: "mine"|"theirs") => void}} props drafts; `theirs` is null when the schedule is gone
 */
export function Conflict({ base, mine, theirs, zone, choose }) {
  const ref = useRef(null);
  useEffect(() => ref.current.focus(), []);
  return html`<section class="note warn" role="alert" tabindex="-1" ref=${ref}>
    ${theirs ? html`<${Changed} base=${base} mine=${mine} theirs=${theirs} zone=${zone} />
      <div class="actions">
        <button type="button" onClick=${() => choose(theirs, "theirs")}>Take theirs</button>
        <button type="button" class="primary" onClick=${() => choose(merged(base, theirs, mine), "mine")}>Keep my changes</button>
      </div>` : html`<h3>It was deleted meanwhile</h3>
      <p>Nothing was saved. If you keep your changes, saving creates it again: it counts from then, and continues the history it had.</p>
      <div class="actions"><button type="button" onClick=${() => choose(mine, "mine")}>Keep my changes</button></div>`}
  </section>`;
}

/** What was chosen, and that nothing is saved yet. @param {{whose: "mine"|"theirs", label: string}} props */
export function Chosen({ whose, label }) {
  const ref = useRef(null);
  useEffect(() => ref.current.focus(), []);
  return html`<div class="note calm" role="status" tabindex="-1" ref=${ref}>
    <p><strong>${whose === "mine" ? "Your changes are kept." : "The form has theirs now."}</strong> Now press ${label}.</p>
  </div>`;
}

function Changed({ base, mine, theirs, zone }) {
  const instant = useClock(zone);
  const names = Object.keys(NAMES).filter((name) => theirs[name] !== base[name]);
  if (!names.length) {
    return html`<h3>It was changed meanwhile</h3>
      <p>Nothing was saved. Its definition is as you read it: it was paused or resumed, say. Keep your changes, and save again.</p>`;
  }
  return html`<h3>It was changed meanwhile</h3>
    <p>Nothing was saved. “Keep my changes” keeps every field that you changed, and takes theirs where you changed none; “Take theirs”
      drops what you typed.</p>
    <div class="scroll"><table class="rows">
      <caption class="hidden">What changed meanwhile</caption>
      <thead><tr><th scope="col">Field</th><th scope="col">You read</th><th scope="col">Now it is</th><th scope="col">Yours</th></tr></thead>
      <tbody>${names.map((name) => html`<tr key=${name}>
        <td><strong>${NAMES[name]}</strong></td>
        <td data-label="You read"><code>${worded(name, base[name], instant)}</code></td>
        <td data-label="Now it is"><code>${worded(name, theirs[name], instant)}</code></td>
        <td data-label="Yours">${mine[name] === base[name] ? html`<span class="dim">unchanged</span>`
          : html`<code>${worded(name, mine[name], instant)}</code>`}</td>
      </tr>`)}</tbody>
    </table></div>`;
}
