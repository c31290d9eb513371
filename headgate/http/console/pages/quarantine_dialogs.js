/** Barring content by its fingerprint, and releasing it. */

import { call, segment } from "../app/api.js";
import { html, useState } from "../app/dom.js";
import { refresh } from "../app/live.js";
import { counted } from "../app/words.js";
import { Field, FormDialog } from "../ui/dialog.js";
import { say } from "../ui/toast.js";

/**
 * Bar a fingerprint, or change the note on one that is barred.
 * @param {{fingerprint?: string, entry?: any, done: (barred: any) => void}} props
 */
export function BarContent({ fingerprint = "", entry = null, done }) {
  const [typed, setTyped] = useState(entry?.fingerprint ?? fingerprint);
  const [note, setNote] = useState(entry?.note ?? "");
  const submit = () => call("PUT", `/quarantine/${segment(typed.trim())}`, { body: { note } });
  const given = Boolean(entry || fingerprint);
  const [title, label] = entry ? ["Note on a fingerprint", "Set note"] : ["Bar a fingerprint", "Bar it"];
  return html`<${FormDialog} title=${title} submitLabel=${label} submit=${submit} done=${done} danger=${!entry} disabled=${!typed.trim()}>
    ${!entry && html`<p>Jobs of this kind with this payload are neither enqueued nor run until somebody releases it. Those that wait
      are set aside when their turn comes, ticks are skipped; what runs goes on.</p>`}
    <${Field} label="Fingerprint" hint="32 of 0-9 a-f, as a job's page shows it">
      <input name="fingerprint" required pattern="[0-9a-f]{32}" maxlength="32" autocomplete="off" spellcheck=${false} readonly=${given} value=${typed}
        onInput=${(event) => setTyped(event.target.value)} /><//>
    <${Field} label="Note" hint="why, for everybody who wonders">
      <input name="note" maxlength="1000" value=${note} onInput=${(event) => setNote(event.target.value)} /><//>
  <//>`;
}

export function told(barred) {
  if (!barred) return;
  say(`${barred.fingerprint} is in quarantine.`);
  refresh();
}

/** Release a fingerprint. What that frees is said before. @param {{entry: any, done: (result: any) => void}} props */
export function Release({ entry, done }) {
  const submit = () => call("DELETE", `/quarantine/${segment(entry.fingerprint)}`);
  const crashes = entry.why === "crash_limit";
  return html`<${FormDialog} title="Release from quarantine" submitLabel="Release" submit=${submit} done=${done} danger=${crashes}>
    <p><code>${entry.fingerprint}</code></p>
    <p>${entry.set_aside ? html`<strong>${counted(entry.set_aside, "job")}</strong> set aside for it may run at once, as their queues let them.`
      : html`<strong>No job</strong> is set aside for it.`} From now on it may be enqueued again, and ticks with it make jobs.</p>
    ${crashes && html`<p class="warn"><span aria-hidden="true">!</span> Its jobs crashed their workers. If they still do, it ends up here again.</p>`}
  <//>`;
}

export function released(result) {
  if (!result) return;
  say(`Released: ${counted(result.released, "job")} may run again.`);
  refresh();
}
