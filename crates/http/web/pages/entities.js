// Entities: the files, packages, addresses and symbols that memories name, and what is known about each.

import { get } from '../lib/api.js';
import { h } from '../lib/dom.js';
import { card, empty, heading, memoryRow } from '../lib/parts.js';
import { go } from '../lib/router.js';
import { project } from '../lib/state.js';
import { count, counted, words } from '../lib/text.js';

const LISTED_MAX = 500;
const KINDS = ['file', 'url', 'package', 'symbol', 'endpoint', 'env_var', 'version', 'error'];

/** @param {import('../lib/router.js').Visit} visit */
export async function open({ query, signal }) {
  const about = query.get('about');
  const type = query.get('type') ?? '';
  const answer = await get('/api/entities', { type, project: project(), limit: LISTED_MAX }, signal);
  const choose = h('select', { 'aria-label': 'Kind', onchange: (/** @type {Event} */ event) => {
    const { value } = /** @type {HTMLSelectElement} */ (event.target);
    go(value ? `/entities?type=${value}` : '/entities');
  } }, h('option', { value: '' }, 'All kinds'), KINDS.map((kind) => h('option', { value: kind, selected: kind === type }, words(kind))));
  /** @type {Map<string, any[]>} */
  const groups = new Map();
  for (const entity of answer.entities) groups.set(entity.type, [...(groups.get(entity.type) ?? []), entity]);
  const link = (/** @type {any} */ entity) => h('li', {}, h('a', { class: 'chip', href: `/entities?about=${encodeURIComponent(entity.value)}${type ? `&type=${type}` : ''}` },
    entity.value, h('span', { class: 'quiet' }, ` ${count(entity.memories)}`)));
  return [
    heading('Entities', { sub: `${counted(answer.total, 'thing')} named${project() ? ` in ${project()}` : ''}`, actions: choose }),
    about && card(`What is known about ${about}`, await known(about, signal)),
    answer.total === 0 ? empty('Nothing is named', 'Files, packages and addresses in the text of memories are collected here.')
      : [...groups].map(([kind, list]) => card(`${words(kind)} (${list.length})`, h('ul', { class: 'chips' }, list.map(link)))),
    answer.entities.length < answer.total && h('p', { class: 'quiet' }, `The ${count(answer.entities.length)} most named of ${count(answer.total)}.`),
  ];
}

/**
 * @param {string} about
 * @param {AbortSignal} signal
 */
async function known(about, signal) {
  const hits = await get('/api/search', { q: about, project: project(), limit: 20, quiet: true }, signal);
  const naming = hits.filter((/** @type {any} */ hit) => `${hit.title} ${hit.content}`.includes(about));
  if (naming.length === 0) return h('p', { class: 'quiet' }, 'No memory in sight names it in these letters.');
  return h('ul', { class: 'rows' }, naming.map((/** @type {any} */ hit) => h('li', {}, memoryRow(hit))));
}
