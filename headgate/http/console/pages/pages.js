/** Every page: its component, and its name for the title. */

import { NotFound } from "./notfound.js";
import { Jobs } from "./jobs.js";
import { Quarantine } from "./quarantine.js";
import { Queues } from "./queues.js";
import { Schedule } from "./schedule.js";
import { Schedules } from "./schedules.js";
import { System } from "./system.js";
import { Upcoming } from "./upcoming.js";
import { html } from "../app/dom.js";
import { Job } from "./job.js";

const PAGES = {
  schedules: [({ route, ...rest }) => (route.id === null ? html`<${Schedules} route=${route} ...${rest} />` : html`<${Schedule} route=${route} ...${rest} />`), "Schedules"],
  upcoming: [Upcoming, "Upcoming"],
  jobs: [({ route, ...rest }) => (route.id === null ? html`<${Jobs} route=${route} ...${rest} />` : html`<${Job} route=${route} ...${rest} />`), "Jobs"],
  queues: [Queues, "Queues"],
  quarantine: [Quarantine, "Quarantine"],
  system: [System, "System"],
};

/** The page of that name: its component, and its name for the title. */
export const pageOf = (name) => (Object.hasOwn(PAGES, name) ? PAGES[name] : [NotFound, "No such page"]);
