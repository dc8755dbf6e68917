// Timeline: what was remembered and asked, day by day, newest first. More days come as they are asked for.

import { get, getPage } from '../lib/api.js';
import { asOfSlider } from '../lib/as_of.js';
import { button, h, pill, show } from '../lib/dom.js';
import { empty, heading, memoryRow, timeOfDay } from '../lib/parts.js';
import { go } from '../lib/router.js';
import { project } from '../lib/state.js';
import { count, counted } from '../lib/text.js';
import { dayKey, dayName, moment } from '../lib/time.js';
import { attempt } from '../lib/toast.js';

const PAGE = 60;

/** @param {Visit} visit */
export async function open({ query, signal }) {
  const began = await get('/api/journal/1', {}, signal).then((entry) => Date.parse(entry.at), () => Date.now());
  const now = Date.now();
  const asked = Date.parse(query.get('as_of') ?? '') || now;
  const slider = asOfSlider({ from: Math.min(began, now - 60_000), to: now, at: asked,
    onpick: (at) => go(at === null ? '/timeline' : `/timeline?as_of=${new Date(at).toISOString()}`) });
  if (query.get('as_of')) return earlier(new Date(asked).toISOString(), slider, signal);
  const days = h('div');
  /** @type {Map<string, {list: HTMLElement, note: HTMLElement, number: number}>} */
  const known = new Map();
  const ask = (/** @type {number} */ offset) => getPage('/api/observations', { project: project(), limit: PAGE, offset, preview: 200 }, signal);
  const add = (/** @type {string} */ at, /** @type {Node} */ node) => {
    const key = dayKey(at);
    let day = known.get(key);
    if (!day) {
      day = { list: h('ol', { class: 'rows tree' }), note: h('span', { class: 'pill' }), number: 0 };
      known.set(key, day);
      days.append(h('section', { 'aria-label': dayName(key, Date.now()) }, h('h2', { class: 'day-head' }, dayName(key, Date.now()), ' ', day.note), day.list));
    }
    day.number += 1;
    show(day.note, count(day.number));
    day.list.append(h('li', {}, node));
  };
  const first = await ask(0);
  const prompts = await getPage('/api/prompts', { project: project(), limit: PAGE }, signal);
  const until = first.data.at(-1)?.created_at ?? '';
  const steps = [
    ...first.data.map((/** @type {any} */ memory) => ({ at: memory.created_at, node: memoryRow(memory, { dated: true }) })),
    ...prompts.data.filter((/** @type {any} */ prompt) => prompt.created_at >= until).map((/** @type {any} */ prompt) => ({ at: prompt.created_at, node: promptRow(prompt) })),
  ].sort((a, b) => b.at.localeCompare(a.at));
  for (const step of steps) add(step.at, step.node);
  let shown = first.data.length;
  const more = button('', () => attempt(async () => {
    const next = await ask(shown);
    for (const memory of next.data) add(memory.created_at, memoryRow(memory, { dated: true }));
    shown += next.data.length;
    more.hidden = shown >= next.total || next.data.length === 0;
  }), 'Earlier');
  more.hidden = shown >= first.total;
  if (first.total === 0) return [heading('Timeline'), empty('Nothing happened yet', 'What is saved and asked appears here, day by day.')];
  return [heading('Timeline', { sub: `${counted(first.total, 'memory', 'memories')}${project() ? ` in ${project()}` : ''}, and what was asked between them` }), slider, days, h('p', { class: 'actions more-row' }, more)];
}

/**
 * What held at a moment: the newest of it, each as it was worded then.
 * @param {string} at
 * @param {HTMLElement} slider
 * @param {AbortSignal} signal
 */
async function earlier(at, slider, signal) {
  const hits = await get('/api/search', { q: '*', as_of: at, project: project(), limit: PAGE, quiet: true }, signal);
  /** @type {Map<string, HTMLElement[]>} */
  const days = new Map();
  for (const hit of hits.sort((/** @type {any} */ a, /** @type {any} */ b) => b.created_at.localeCompare(a.created_at))) days.set(dayKey(hit.created_at), [...days.get(dayKey(hit.created_at)) ?? [], memoryRow(hit, { dated: true })]);
  return [heading('Timeline', { sub: `As it was on ${moment(at).slice(0, 16)}: the newest ${count(hits.length)} of what held then` }), slider,
    hits.length === 0 && empty('Nothing was remembered yet', 'Move the slider to the right.'),
    [...days].map(([key, rows]) => h('section', { 'aria-label': dayName(key, Date.now()) }, h('h2', { class: 'day-head' }, dayName(key, Date.now())), h('ol', { class: 'rows tree' }, rows.map((row) => h('li', {}, row)))))];
}

/** @param {any} prompt */
function promptRow(prompt) {
  return h('a', { class: 'row', href: prompt.session_id ? `/sessions/${encodeURIComponent(prompt.session_id)}` : '/timeline' },
    h('span', { class: 'row-top' }, pill('accent', 'asked'), h('span', { class: 'row-title' }, prompt.content)),
    h('span', { class: 'row-meta' }, h('span', {}, prompt.project), timeOfDay(prompt.created_at)));
}
