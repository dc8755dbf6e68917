// How many memories there were at the end of each day. Pure.

import { dayKey } from './time.js';

/**
 * Counts backwards from the total, so that it is right also when only the newest memories are known.
 * @param {string[]} created when the newest were made, in any order
 * @param {number} total
 * @param {string[]} days keys as `dayKey` gives them, oldest first
 * @returns {{day: string, added: number, total: number}[]}
 */
export function growth(created, total, days) {
  /** @type {Map<string, number>} */
  const added = new Map();
  for (const at of created) added.set(dayKey(at), (added.get(dayKey(at)) ?? 0) + 1);
  let left = total;
  return [...days].reverse().map((day) => {
    const row = { day, added: added.get(day) ?? 0, total: left };
    left -= row.added;
    return row;
  }).reverse();
}

/**
 * A round number at or above the highest value, for the axis.
 * @param {number} highest
 */
export function ceiling(highest) {
  if (highest <= 5) return 5;
  const power = 10 ** Math.floor(Math.log10(highest));
  const step = [1, 1.5, 2, 3, 4, 6, 8, 10].find((factor) => factor * power >= highest) ?? 10;
  return step * power;
}
