// Why a hit was found: how well it fits, and what each arm of the search had to say, as small bars.

import { h, s } from '../lib/dom.js';

/** @typedef {import('../lib/shapes.js').Hit} Hit */

/** @param {Hit} hit */
export function armBars(hit) {
  const share = Math.round((hit.rank ?? 0) * 100);
  const arms = (hit.arms ?? []).map((arm) => `${arm.arm}: place ${arm.rank}`).join(', ');
  return h('span', { class: 'fit', title: arms ? `fits ${share}% — ${arms}` : `fits ${share}%` },
    s('svg', { viewBox: '0 0 40 6', width: 40, height: 6, 'aria-hidden': 'true' },
      s('rect', { x: 0, y: 0, width: 40, height: 6, rx: 3, class: 'fit-back' }),
      s('rect', { x: 0, y: 0, width: Math.max(3, share * 0.4), height: 6, rx: 3, class: 'fit-front' })),
    h('span', {}, `${share}%`),
    (hit.arms ?? []).map((arm) => h('span', { class: 'arm' }, `${arm.arm} ${arm.rank}`)));
}
