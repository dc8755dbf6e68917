// A slider over time: what held at a moment. Pure of requests; whoever uses it asks for what held then.

import { h, input, show } from './dom.js';
import { moment } from './time.js';

const STEPS = 1_000;

/**
 * @param {{from: number, to: number, at: number, onmove?: (at: number) => void, onpick: (at: number | null) => void, stops?: number[]}} options
 *   `stops` are moments at which something changed; `onmove` is called while it moves, `onpick` when it rests, with nothing for now
 */
export function asOfSlider({ from, to, at, onmove = () => {}, onpick, stops = [] }) {
  const width = Math.max(1, to - from);
  const step = (/** @type {number} */ time) => Math.round(((time - from) / width) * STEPS);
  const said = h('output', { for: 'as-of' });
  const chosen = () => (Number(range.value) >= STEPS ? to : from + (Number(range.value) / STEPS) * width);
  const say = () => show(said, Number(range.value) >= STEPS ? 'now' : moment(chosen()).slice(0, 16));
  const range = input({
    id: 'as-of', type: 'range', min: 0, max: STEPS, list: stops.length > 0 ? 'as-of-stops' : null,
    oninput: () => { say(); onmove(chosen()); }, onchange: () => onpick(Number(range.value) >= STEPS ? null : chosen()),
  });
  range.value = String(Math.min(STEPS, Math.max(0, step(at))));
  say();
  return h('div', { class: 'as-of' }, h('label', { for: 'as-of' }, 'As of'), range,
    stops.length > 0 && h('datalist', { id: 'as-of-stops' }, stops.map((stop) => h('option', { value: step(stop) }))), said);
}
