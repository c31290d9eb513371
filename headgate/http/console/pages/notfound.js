/** An address that names no page: says so, and where there is something. */

import { html } from "../app/dom.js";
import { linkTo } from "../app/route.js";
import { PLACES } from "../ui/keys.js";

export function NotFound({ route }) {
  return html`<section>
    <div class="heading"><h1>No such page</h1></div>
    <p>The console has no page <code>${route.page}</code>. It has these:</p>
    <ul>${PLACES.map(([, page, name]) => html`<li key=${page}><a href=${linkTo(page)}>${name}</a></li>`)}</ul>
  </section>`;
}
