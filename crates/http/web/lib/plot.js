// Plots over days: how the memory grew (bars for what a day added, a line for how much there was), and what models cost.

import { h, s } from './dom.js';
import { ceiling } from './growth.js';
import { count, counted } from './text.js';
import { date } from './time.js';

const WIDTH = 640;
const HEIGHT = 170;
const LEFT = 52;
const RIGHT = 8;
const BOTTOM = 22;
const TOP = 10;

/** @param {{day: string, added: number, total: number}[]} rows oldest first */
export function growthPlot(rows) {
  const now = Date.now();
  const most = ceiling(Math.max(...rows.map((row) => row.total), 1));
  const busiest = Math.max(...rows.map((row) => row.added), 1);
  const step = (WIDTH - LEFT - RIGHT) / Math.max(rows.length, 1);
  const x = (/** @type {number} */ index) => LEFT + step * (index + 0.5);
  const y = (/** @type {number} */ value, /** @type {number} */ top) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP);
  const noon = (/** @type {string} */ day) => `${day}T12:00:00`;
  const line = rows.map((row, index) => `${index === 0 ? 'M' : 'L'}${x(index).toFixed(1)} ${y(row.total, most).toFixed(1)}`).join('');
  const area = `${line}L${x(rows.length - 1).toFixed(1)} ${HEIGHT - BOTTOM}L${x(0).toFixed(1)} ${HEIGHT - BOTTOM}Z`;
  const first = rows[0];
  const last = rows.at(-1);
  const words = first && last
    ? `From ${counted(first.total, 'memory', 'memories')} on ${date(noon(first.day), now)} to ${count(last.total)} today.` : '';
  return h('figure', { class: 'plot' },
    s('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': `Memories over time. ${words}` },
      [0, 0.5, 1].map((share) => [
        s('line', { x1: LEFT, x2: WIDTH - RIGHT, y1: y(share, 1), y2: y(share, 1), class: 'grid' }),
        s('text', { x: LEFT - 6, y: y(share, 1) + 4, class: 'axis end' }, count(most * share)),
      ]),
      s('path', { d: area, class: 'area' }),
      rows.map((row, index) => row.added > 0 && s('rect', {
        x: (x(index) - step * 0.34).toFixed(1), width: (step * 0.68).toFixed(1), rx: 1.5,
        y: y(row.added, busiest * 2.5).toFixed(1), height: (HEIGHT - BOTTOM - y(row.added, busiest * 2.5)).toFixed(1), class: 'bar',
      }, s('title', {}, `${date(noon(row.day), now)}: ${counted(row.added, 'memory', 'memories')} added, ${count(row.total)} in all`))),
      s('path', { d: line, class: 'line' }),
      rows.map((row, index) => (rows.length - 1 - index) % 7 === 0 && s('text', { x: x(index), y: HEIGHT - 5, class: `axis ${index === rows.length - 1 ? 'end' : 'middle'}` },
        index === rows.length - 1 ? 'today' : date(noon(row.day), now)))),
    h('figcaption', { class: 'quiet' }, words, ' Bars: added on a day.'));
}

/** Days that have a label below them. */
const LABEL_EVERY = 7;
/** It stands across the whole page. */
const WIDE = 1_000;

/**
 * What models cost, day by day, as bars with a piece for each purpose.
 * @param {{day: string, purposes: {[purpose: string]: {tokens: number, dollars: number}}}[]} spent days on which something was
 * @param {string[]} purposes in the order of their colours
 * @param {string} today the UTC day that is the last one
 * @param {number} days
 */
export function spentPlot(spent, purposes, today, days) {
  const known = new Map(spent.map((each) => [each.day, each.purposes]));
  const last = Date.parse(`${today}T00:00:00Z`);
  const keys = Array.from({ length: days }, (_, index) => new Date(last - (days - 1 - index) * 86_400_000).toISOString().slice(0, 10));
  const sum = (/** @type {string} */ day, /** @type {'tokens' | 'dollars'} */ what) => Object.values(known.get(day) ?? {}).reduce((total, each) => total + each[what], 0);
  const [tokens, dollars] = [keys.reduce((total, day) => total + sum(day, 'tokens'), 0), keys.reduce((total, day) => total + sum(day, 'dollars'), 0)];
  const words = tokens === 0 ? `Nothing was spent in ${days} days.` : `${counted(tokens, 'token')} and $${dollars.toFixed(2)} in ${days} days.`;
  const most = ceiling(Math.max(...keys.map((day) => sum(day, 'tokens')), 1));
  const step = (WIDE - LEFT - RIGHT) / days;
  const height = HEIGHT - BOTTOM - TOP;
  const name = (/** @type {string} */ day) => date(`${day}T12:00:00`, last);
  const bar = (/** @type {string} */ day, /** @type {number} */ index) => {
    let below = 0;
    return purposes.map((purpose, place) => {
      const cost = known.get(day)?.[purpose];
      if (!cost?.tokens) return null;
      const size = (cost.tokens / most) * height;
      below += size;
      return s('rect', { class: `c${place % 6}`, x: (LEFT + step * (index + 0.16)).toFixed(1), width: (step * 0.68).toFixed(1), y: (HEIGHT - BOTTOM - below).toFixed(1), height: size.toFixed(1) },
        s('title', {}, `${name(day)}, ${purpose}: ${counted(cost.tokens, 'token')}, $${cost.dollars.toFixed(4)}`));
    });
  };
  return h('figure', { class: 'plot' },
    s('svg', { viewBox: `0 0 ${WIDE} ${HEIGHT}`, role: 'img', 'aria-label': `Spent by day and purpose. ${words}` },
      [0, 0.5, 1].map((share) => [
        s('line', { x1: LEFT, x2: WIDE - RIGHT, y1: HEIGHT - BOTTOM - share * height, y2: HEIGHT - BOTTOM - share * height, class: 'grid' }),
        s('text', { x: LEFT - 6, y: HEIGHT - BOTTOM - share * height + 4, class: 'axis end' }, tokens === 0 ? (share === 0 ? '0' : '') : count(most * share))]),
      keys.map(bar),
      keys.map((day, index) => (days - 1 - index) % LABEL_EVERY === 0 && s('text', { x: LEFT + step * (index + 0.5), y: HEIGHT - 5, class: `axis ${index === days - 1 ? 'end' : 'middle'}` }, index === days - 1 ? 'today' : name(day)))),
    h('figcaption', { class: 'quiet legend' }, words, tokens > 0 && purposes.map((purpose, place) => h('span', { class: 'arm-name' }, h('span', { class: `swatch c${place % 6}` }), purpose))));
}
