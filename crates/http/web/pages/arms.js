// Why a hit was found: how well it fits, and what each arm of the search gave to that, as parts of one bar.

import { h, s } from '../lib/dom.js';

/** @typedef {import('../lib/shapes.js').Arm} Arm */

const WIDTH = 40;
/** Arms in a fixed order, so that one arm has one colour on every page. */
const ORDER = ['meaning', 'words', 'interaction', 'entities', 'prior', 'session', 'date', 'speaker'];

/**
 * What an arm gave: how well it thought the hit fits, times how much it counts.
 * @param {Arm} arm
 */
export function given(arm) {
  return Math.max(0, arm.score * arm.weight);
}

/** @param {string} arm */
export function armColour(arm) {
  const at = ORDER.indexOf(arm);
  return `c${(at < 0 ? ORDER.length : at) % 6}`;
}

/**
 * Arms that gave something, the most first.
 * @param {Hit} hit
 */
export function givingArms(hit) {
  return (hit.arms ?? []).filter((arm) => given(arm) > 0).sort((a, b) => given(b) - given(a));
}

/**
 * @param {Hit} hit
 * @param {number} [width]
 */
export function armBars(hit, width = WIDTH) {
  const share = Math.round((hit.rank ?? 0) * 100);
  const arms = givingArms(hit);
  const total = arms.reduce((sum, arm) => sum + given(arm), 0);
  const words = arms.map((arm) => `${arm.arm} ${Math.round((given(arm) / total) * 100)}%`).join(', ');
  const length = Math.max(3, (share / 100) * width);
  let at = 0;
  const parts = arms.map((arm) => {
    const part = (given(arm) / total) * length;
    at += part;
    return s('rect', { x: (at - part).toFixed(2), y: 0, width: part.toFixed(2), height: 6, class: armColour(arm.arm) });
  });
  return h('span', { class: 'fit', title: words ? `fits ${share}%: ${words}` : `fits ${share}%` },
    s('svg', { viewBox: `0 0 ${width} 6`, width, height: 6, 'aria-hidden': 'true' },
      s('rect', { x: 0, y: 0, width, height: 6, rx: 3, class: 'fit-back' }),
      parts.length > 0 ? parts : s('rect', { x: 0, y: 0, width: length, height: 6, rx: 3, class: 'fit-front' })),
    h('span', { class: `level ${hit.level ?? ''}` }, hit.level || `${share}%`));
}
