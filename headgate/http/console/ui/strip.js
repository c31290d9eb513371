/**
 * The strip at the top: whether ticks become jobs, in one look. It is red when nobody schedules, when the store is away,
 * and when what is shown is out of date; it says which.
 */

import { call } from "../app/api.js";
import { html, useEffect, useState } from "../app/dom.js";
import { lastHeardAt, setLive, useLive, useRead } from "../app/live.js";
import { setPref, usePref } from "../app/prefs.js";
import { linkTo, useRoute } from "../app/route.js";
import { clock, useNow } from "../app/time.js";
import { PLACES, Help } from "./keys.js";
import { ask } from "./dialog.js";

const LOOK_MS = 2_000;
/** A read each two seconds: after this long without one, what is shown may be out of date. */
const STALE_MS = 7_000;

export function Strip({ meta, session }) {
  const route = useRoute();
  return html`<header class="strip">
    <div class="bar">
      <a class="brand" href=${linkTo("schedules")}>Headgate</a>
      ${meta?.environment && html`<span class="badge env">${meta.environment}</span>`}
      ${meta?.read_only && html`<span class="badge warn">read-only</span>`}
      <${Alive} />
      <${Choices} session=${session} />
    </div>
    <nav class="places" aria-label="pages">
      ${PLACES.map(([, page, name]) => html`<a href=${linkTo(page)} aria-current=${route.page === page ? "page" : null}>${name}</a>`)}
    </nav>
  </header>`;
}

function Alive() {
  const { data, problem } = useRead("/duties", {}, { heeds: (hint) => hint.kind === "duty", every: LOOK_MS, always: true });
  const [readAt, setReadAt] = useState(performance.now());
  useEffect(() => setReadAt(performance.now()), [data]);
  const now = useNow();
  const live = useLive();
  const stale = performance.now() - Math.max(readAt, live === "live" ? lastHeardAt() : 0) > STALE_MS;
  const [tone, text] = verdict(data, problem, stale, live);
  const behind = data?.problems?.filter((each) => each.code !== "no_scheduler") ?? [];
  return html`<div class=${`alive ${tone}`} role="status" data-tone=${tone}>
    <strong>${text}</strong>
    ${tone !== "bad" && behind.length > 0 && html` <a href=${linkTo("system")}>${behind[0].message}</a>`}
    <time class="clock" title="store time">${clock(now - (now % 1_000), "UTC")} UTC</time>
  </div>`;
}

/** What the strip says: a tone and a sentence. */
function verdict(data, problem, stale, live) {
  if (problem) {
    if (problem.code === "unreachable") return ["bad", "The server does not answer; what is shown may be out of date."];
    return ["bad", `The store is away (${problem.code}); what is shown may be out of date.`];
  }
  if (!data) return ["calm", "Looking…"];
  const scheduler = data.duties.find((duty) => duty.name === "scheduler");
  if (!scheduler?.holder) return ["bad", "Nobody schedules: ticks wait until a scheduler takes the duty."];
  if (data.store !== "ok") return ["bad", `The store takes no writes (${data.store}).`];
  if (stale) return ["bad", "What is shown may be out of date: nothing was heard for a while."];
  if (data.status === "down") return ["bad", data.problems[0]?.message ?? "Ticks do not become jobs."];
  if (data.status === "degraded") return ["warn", "Scheduling, with trouble."];
  return ["good", "Scheduling."];
}

function Choices({ session }) {
  const theme = usePref("theme");
  const zone = usePref("clock");
  const live = useLive();
  const choose = (name) => (event) => setPref(name, event.target.value);
  const toggle = () => {
    const on = live === "paused";
    setPref("live", on ? "on" : "off");
    setLive(on);
  };
  const logOut = async () => {
    await call("DELETE", "/session");
    location.reload();
  };
  return html`<div class="choices">
    <button class="plain" aria-pressed=${live === "paused"} onClick=${toggle}
      title="click to hold views still, or to have them follow what changes">${live === "paused" ? "❚❚ Held: follow again" : live === "live" ? "● Live" : "… Live"}</button>
    <select aria-label="clock" value=${zone} onChange=${choose("clock")}>
      <option value="local">local time</option><option value="utc">UTC</option><option value="schedule">schedule's zone</option>
    </select>
    <select aria-label="theme" value=${theme} onChange=${choose("theme")}>
      <option value="system">system theme</option><option value="light">light</option><option value="dark">dark</option>
    </select>
    <button class="plain" aria-label="keyboard help" onClick=${() => ask(Help)}>?</button>
    ${session?.asked && html`<span class="dim">${session.name} (${session.role})</span> <button class="plain" onClick=${logOut}>Log out</button>`}
  </div>`;
}
