// Search lab: why hits stand where they stand. What each arm of the search gave; and two settings side by side.

import { get } from '../lib/api.js';
import { button, h, pill, quiet } from '../lib/dom.js';
import { card, empty, fillIn, heading, table } from '../lib/parts.js';
import { go, reload } from '../lib/router.js';
import { keep, recall } from '../lib/state.js';
import { count, counted } from '../lib/text.js';
import { armBars, armColour, givingArms } from './arms.js';

/** @typedef {{project: string, type: string, as_of: string}} Setting */

const HITS = 20;

/** @param {Visit} visit */
export async function open({ query, signal }) {
  const question = query.get('q')?.trim() ?? '';
  const first = setting(query, 'a');
  const second = setting(query, 'b');
  const compares = Object.values(second).some(Boolean);
  const [left, right] = question ? await Promise.all([run(question, first, signal), compares ? run(question, second, signal) : null]) : [null, null];
  return [
    heading('Search lab', { sub: 'Why hits stand where they stand. Looking here does not count as use.' }),
    form(question, first, second),
    !question ? empty('Ask something', 'The same words give the same answer: nothing here is learned from your questions.')
      : h('div', { class: right ? 'halves' : null }, result('A', left ?? [], right, question), right && result('B', right, left, question)),
    known(first, signal),
  ];
}

/**
 * @param {URLSearchParams} query
 * @param {string} side
 * @returns {Setting}
 */
function setting(query, side) {
  return { project: query.get(`${side}_project`) ?? '', type: query.get(`${side}_type`) ?? '', as_of: query.get(`${side}_as_of`) ?? '' };
}

/**
 * @param {string} question
 * @param {Setting} how
 * @param {AbortSignal} signal
 * @returns {Promise<Hit[]>}
 */
function run(question, how, signal) {
  const asOf = how.as_of ? new Date(`${how.as_of}T23:59:59`).toISOString() : undefined;
  return get('/api/search', { q: question, project: how.project, type: how.type, as_of: asOf, limit: HITS, quiet: true }, signal);
}

/**
 * @param {string} name
 * @param {Hit[]} hits
 * @param {Hit[] | null} other to compare places with
 * @param {string} question
 */
function result(name, hits, other, question) {
  const right = answers()[question];
  // Side by side there is room for the bars only; what they stand for is said below.
  const all = [...new Set(hits.flatMap((hit) => givingArms(hit).map((arm) => arm.arm)))].sort();
  const arms = other ? [] : all;
  const places = new Map((other ?? []).map((hit, index) => [hit.id, index + 1]));
  const moved = (/** @type {Hit} */ hit, /** @type {number} */ place) => {
    if (!other) return null;
    const there = places.get(hit.id);
    if (there === undefined) return pill('accent', 'only here');
    return there === place ? null : pill('', there > place ? `↑ ${there - place}` : `↓ ${place - there}`);
  };
  const cell = (/** @type {Hit} */ hit, /** @type {string} */ name_) => {
    const arm = givingArms(hit).find((each) => each.arm === name_);
    return arm ? h('span', { title: `place ${arm.rank}, weight ${arm.weight}${arm.by ? `, by ${arm.by}` : ''}` }, arm.score.toFixed(2)) : quiet('–');
  };
  const rows = hits.map((hit, index) => [String(index + 1), h('span', {}, h('a', { href: `/m/${hit.id}` }, hit.title.replaceAll('`', '')), ' ', moved(hit, index + 1), h('button', { class: 'icon-button', 'aria-pressed': String(right === hit.id), 'aria-label': `${hit.title} is right`, onclick: () => mark(question, hit.id) }, right === hit.id ? '✓ right' : 'right?')),
    armBars(hit, other ? 60 : 120), ...arms.map((name_) => cell(hit, name_))]);
  const named = (/** @type {string} */ arm) => h('span', { class: 'arm-name' }, h('span', { class: `swatch ${armColour(arm)}` }), arm);
  const columns = ['#', 'Memory', 'Fits', ...arms.map(named)];
  return card(other ? `Setting ${name}` : 'Hits', hits.length === 0 ? empty('Nothing was found', 'Not with this setting.')
    : [table(`Hits of ${name}`, columns, rows), other && h('p', { class: 'facts' }, all.map(named)), h('p', { class: 'quiet foot' }, `${counted(hits.length, 'hit')}, at most ${HITS}. The bar shows what each arm gave: its score times its weight. A dash: it gave nothing.`)]);
}

/** Questions whose right answer was marked, in this browser. @returns {{[question: string]: number}} */
const answers = () => JSON.parse(recall('answers') || '{}');

/**
 * Marks the right answer, or takes the mark away.
 * @param {string} question
 * @param {number} id
 */
function mark(question, id) {
  const all = answers();
  if (all[question] === id) delete all[question];
  else all[question] = id;
  keep('answers', JSON.stringify(all));
  reload();
}

/**
 * Asks every marked question again, and says where its answer stands now.
 * @param {Setting} how
 * @param {AbortSignal} signal
 */
function known(how, signal) {
  const all = Object.entries(answers());
  const place = h('div');
  const ask = async () => {
    const rows = await Promise.all(all.map(async ([question, id]) => ({ question, id, at: (await run(question, how, signal)).findIndex((hit) => hit.id === id) + 1 })));
    const within = (/** @type {number} */ most) => count(rows.filter(({ at }) => at > 0 && at <= most).length);
    return [h('p', {}, `${within(1)} of ${count(rows.length)} stand first, ${within(5)} among the first five, ${within(HITS)} among ${HITS}.`),
      table('Known answers', ['Question', 'Right', 'Place'], rows.map(({ question, id, at }) => [h('a', { href: `/lab?q=${encodeURIComponent(question)}` }, question), `#${id}`, at ? String(at) : 'not found']))];
  };
  return all.length > 0 && card('Known answers', place, { aside: button('small', () => void fillIn(place, ask), `Ask ${counted(all.length, 'question')} again`) });
}

/**
 * @param {string} question
 * @param {Setting} first
 * @param {Setting} second
 */
function form(question, first, second) {
  const fields = (/** @type {string} */ side, /** @type {Setting} */ now) => h('fieldset', {}, h('legend', {}, side === 'a' ? 'Setting A' : 'Setting B, to compare'),
    h('input', { name: `${side}_project`, placeholder: 'any project', 'aria-label': `Project of ${side}`, value: now.project }), h('input', { name: `${side}_type`, placeholder: 'any type', 'aria-label': `Type of ${side}`, value: now.type }),
    h('label', { class: 'inline' }, 'as of ', h('input', { name: `${side}_as_of`, type: 'date', 'aria-label': `As of, ${side}`, value: now.as_of })));
  return h('form', { class: 'lab-form', onsubmit: (event) => {
    event.preventDefault();
    const words = new URLSearchParams();
    for (const [name, value] of new FormData(event.target)) if (value) words.set(name, String(value));
    go(`/lab?${words}`);
  } }, h('input', { name: 'q', type: 'search', placeholder: 'A question in your own words', 'aria-label': 'Question', value: question, required: true }), h('button', { class: 'button primary', type: 'submit' }, 'Search'), fields('a', first), fields('b', second));
}
