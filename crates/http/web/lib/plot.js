// The growth of the memory as a picture: bars for what a day added, a line for how much there was.

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
