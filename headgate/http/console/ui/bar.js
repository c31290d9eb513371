/** A bar that stands for a number: how much of a whole. */

import { html } from "../app/dom.js";

const WIDTH = 120;

/**
 * @param {{value: number, max: number, label?: string, tone?: string}} props `label` says what the bar shows; without one
 *   it is for the eye alone, as words beside it say the same. `tone` as of a badge.
 */
export function Bar({ value, max, label = "", tone = "live" }) {
  const share = max > 0 ? Math.min(1, Math.max(0, value / max)) : 0;
  // What is there at all is to be seen, however small beside the greatest.
  const width = value > 0 ? Math.max(3, Math.round(share * WIDTH)) : 0;
  const told = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" };
  return html`<svg class="spark measure" ...${told} width=${WIDTH} height="10" viewBox=${`0 0 ${WIDTH} 10`}>
    ${label && html`<title>${label}</title>`}
    <rect class="track" width=${WIDTH} height="10" rx="3" /><rect class=${tone} width=${width} height="10" rx="3" />
  </svg>`;
}
