/** One schedule: how it stands, what can be done about it, and its past and future behind tabs. The view is in the address. */

import { segment } from "../app/api.js";
import { html } from "../app/dom.js";
import { refresh, useRead } from "../app/live.js";
import { useMayWrite } from "../app/may.js";
import { go, linkTo } from "../app/route.js";
import { stateOf } from "../app/words.js";
import { ask } from "../ui/dialog.js";
import { Badge, Loading, ProblemNote } from "../ui/parts.js";
import { say } from "../ui/toast.js";
import { Actions, Delete } from "./actions.js";
import { Changes } from "./changes.js";
import { Edit } from "./edit.js";
import { Explain } from "./explain.js";
import { Gaps } from "./gaps.js";
import { Head } from "./head.js";
import { Next } from "./next.js";
import { Runs } from "./runs.js";
import { Trail } from "./trail.js";

const TABS = {
  trail: ["Trail", Trail],
  next: ["Next ticks", Next],
  runs: ["Runs by hand", Runs],
  gaps: ["Gaps", Gaps],
  changes: ["Changes", Changes],
  explain: ["Explain a tick", Explain],
};

export function Schedule({ route }) {
  const { id, params } = route;
  const read = useRead(`/periodic/${segment(id)}`, {}, { heeds: (hint) => hint.kind === "schedule" && hint.id === id });
  const jobs = useRead("/jobs", { periodic_schedule_id: id, limit: 100 }, { heeds: (hint) => ofSchedule(hint, id) }).data?.jobs ?? null;
  const { data, problem, reload } = read;
  const gone = problem?.code === "schedule_not_found";
  if (!data && !problem) return html`<section><div class="heading"><h1>${id}</h1></div><${Loading} /></section>`;
  const schedule = gone ? null : data;
  return html`<section>
    <${Heading} id=${id} schedule=${schedule} />
    ${gone ? html`<${Gone} id=${id} />` : html`<${ProblemNote} problem=${problem} retry=${reload} />`}
    ${schedule && html`<${Head} schedule=${schedule} jobs=${jobs} />`}
    ${(schedule || gone) && html`<${Tabs} id=${id} schedule=${schedule} params=${params} jobs=${jobs} />`}
  </section>`;
}

/** Whether a hint may concern the jobs of its ticks: a tick made one, or one of them got on. */
const ofSchedule = (hint, id) => (hint.kind === "schedule" && hint.id === id) || (hint.kind === "job" && hint.id.startsWith(`sched-${id}-`));

function Heading({ id, schedule }) {
  const mayWrite = useMayWrite();
  const [sign, word, tone] = schedule ? stateOf(schedule) : [];
  const remove = async () => {
    if (!(await ask(Delete, { schedule }))) return;
    say(`${id} is deleted.`);
    refresh();
    go("schedules");
  };
  return html`<div class="heading">
    <div><h1>${id}</h1>${schedule && html`<${Badge} sign=${sign} word=${word} tone=${tone} />`}</div>
    ${schedule && mayWrite && html`<div class="actions-of">
      <${Actions} schedule=${schedule} big />
      <button onClick=${() => ask(Edit, { schedule })}>Edit</button>
      <button class="danger" onClick=${remove}>Delete</button>
    </div>`}
  </div>`;
}

/** It is not there; what is kept of one that was deleted is. */
function Gone({ id }) {
  return html`<div class="note warn">
    <p><strong>There is no schedule ${id}.</strong> It was deleted, or it never existed. What is kept of it is shown below: a deleted one's
      history stays for a year, and one that is created again under the id continues it.</p>
    <p><a href=${linkTo("schedules")}>All schedules</a> ·${" "}
      <a href=${linkTo("schedules", null, { prefix: id.slice(0, 3) })}>those that begin like it</a></p>
  </div>`;
}

function Tabs({ id, schedule, params, jobs }) {
  const names = Object.keys(TABS).filter((name) => schedule || name !== "next");
  const chosen = names.includes(params.get("tab")) ? params.get("tab") : names[0];
  const [, View] = TABS[chosen];
  return html`<nav class="tabs" aria-label="what to see of it">
      ${names.map((name) => html`<a key=${name} href=${linkTo("schedules", id, { tab: name })}
        aria-current=${name === chosen ? "page" : null}>${TABS[name][0]}</a>`)}
    </nav>
    <${View} key=${chosen} id=${id} zone=${schedule?.zone ?? "UTC"} schedule=${schedule} params=${params} jobs=${jobs} />`;
}
