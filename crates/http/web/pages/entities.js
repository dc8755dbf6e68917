// Entities: the files, packages, addresses and symbols that memories name, and what is known about each.

import { get } from '../lib/api.js';
import { h, map, pill, quiet, quietLine } from '../lib/dom.js';
import { card, empty, heading, memoryRow } from '../lib/parts.js';
import { go } from '../lib/router.js';
import { project } from '../lib/state.js';
import { count, counted, words } from '../lib/text.js';

const LISTED_MAX = 500;
const KINDS = ['file', 'url', 'package', 'symbol', 'endpoint', 'env_var', 'version', 'error'];

/** @type {{[kind: string]: string}} */
const NAMES = { file: 'Files', url: 'Addresses', package: 'Packages', symbol: 'Symbols', endpoint: 'Endpoints', env_var: 'Environment variables', version: 'Versions', error: 'Errors' };

/** @param {Visit} visit */
export async function open({ query, signal }) {
  const about = query.get('about');
  const type = query.get('type') ?? '';
  const answer = await get('/api/entities', { type, project: project(), limit: LISTED_MAX }, signal);
  const choose = h('select', { 'aria-label': 'Kind', onchange: (event) => {
    const { value } = event.target;
    go(value ? `/entities?type=${value}` : '/entities');
  } }, h('option', { value: '' }, 'All kinds'), KINDS.map((kind) => h('option', { value: kind, selected: kind === type }, NAMES[kind] ?? words(kind))));
  /** @type {Map<string, any[]>} */
  const groups = new Map();
  for (const entity of answer.entities) groups.set(entity.type, [...(groups.get(entity.type) ?? []), entity]);
  const link = (/** @type {any} */ entity) => h('li', {}, h('a', { class: 'chip', href: `/entities?about=${encodeURIComponent(entity.value)}${type ? `&type=${type}` : ''}` },
    entity.value, quiet(` ${count(entity.memories)}`)));
  return [
    heading('Entities', { sub: `${counted(answer.total, 'file, package or name', 'files, packages and names')} that memories speak of${project() ? ` in ${project()}` : ''}`, actions: choose }),
    about && card(`What is known about ${about}`, await known(about, signal)),
    answer.total === 0 ? empty('Nothing is named', 'Files, packages and addresses in the text of memories are collected here.')
      : [...groups].map(([kind, list]) => card(NAMES[kind] ?? words(kind), h('ul', { class: 'chips' }, list.map(link)), { aside: pill('', count(list.length)) })),
    answer.entities.length < answer.total && quietLine(`The ${count(answer.entities.length)} most named of ${count(answer.total)}.`),
  ];
}

/**
 * @param {string} about
 * @param {AbortSignal} signal
 */
async function known(about, signal) {
  const hits = await get('/api/search', { q: about, project: project(), limit: 20, quiet: true }, signal);
  const naming = hits.filter((/** @type {any} */ hit) => `${hit.title} ${hit.content}`.includes(about));
  if (naming.length === 0) return quietLine('No memory in sight names it in these letters.');
  return h('ul', { class: 'rows' }, map(naming, (hit) => h('li', {}, memoryRow(hit))));
}
