// What a memory is connected to, with a way to connect and to let go.

import { get, send } from '../lib/api.js';
import { openDialog } from '../lib/dialog.js';
import { actions, button, h, icon, input, map, quietLine } from '../lib/dom.js';
import { badge, card, fillIn } from '../lib/parts.js';
import { reload } from '../lib/router.js';
import { words } from '../lib/text.js';
import { attempt, tell } from '../lib/toast.js';

export const RELATIONS = ['references', 'relates_to', 'follows', 'supersedes', 'contradicts', 'updates', 'caused_by', 'part_of', 'result_of'];

/**
 * @param {WholeMemory} memory
 * @param {AbortSignal} signal
 */
export function relationsCard(memory, signal) {
  if (memory.deleted_at || memory.erased) return null;
  const place = h('div');
  void fillIn(place, () => rows(memory, signal), 2);
  return card('Relations', place, { aside: h('span', { class: 'actions' },
    h('a', { class: 'more', href: `/graph/${memory.id}` }, 'Graph'),
    button('small', () => relate(memory), icon('link'), 'Relate')) });
}

/**
 * @param {WholeMemory} memory
 * @param {AbortSignal} signal
 */
async function rows(memory, signal) {
  const answer = await get(`/api/graph/${memory.id}`, { depth: 1 }, signal);
  if (answer.edges.length === 0) return quietLine('It stands alone so far.');
  const nodes = new Map(map(answer.nodes, (node) => [node.id, node]));
  return h('ul', { class: 'relations' }, answer.edges.map((/** @type {Edge} */ edge) => {
    const out = edge.from_obs_id === memory.id;
    const other = /** @type {any} */ (nodes.get(out ? edge.to_obs_id : edge.from_obs_id));
    if (!other) return null;
    return h('li', {}, h('span', { class: 'relation' }, out ? '' : '← ', words(edge.relation_type), out ? ' →' : ''),
      h('a', { class: 'row slim', href: `/m/${other.id}` }, badge(other), h('span', { class: 'row-title' }, other.title)),
      h('button', { class: 'icon-button', 'aria-label': `Remove the relation to ${other.title}`, onclick: () => void unrelate(edge) }, icon('close')));
  }));
}

/** @param {Edge} edge */
async function unrelate(edge) {
  await attempt(async () => {
    await send('DELETE', `/api/graph/edges/${edge.id}`);
    tell('The relation is gone.', () => send('POST', '/api/graph/edges', {
      from_obs_id: edge.from_obs_id, to_obs_id: edge.to_obs_id, relation_type: edge.relation_type, weight: edge.weight,
    }), reload);
    reload();
  });
}

/** @param {WholeMemory} memory */
function relate(memory) {
  const relation = /** @type {HTMLSelectElement} */ (h('select', { id: 'relation' }, RELATIONS.map((each) => h('option', { value: each }, words(each)))));
  const target = input({ id: 'target', type: 'text', inputmode: 'numeric', placeholder: '12', pattern: '#?[0-9]+', required: true, autocomplete: 'off' });
  const form = h('form', {
    onsubmit: async (event) => {
      event.preventDefault();
      dialog.close();
      await attempt(async () => {
        const edge = await send('POST', '/api/graph/edges', { from_obs_id: memory.id, to_obs_id: Number(target.value.replace('#', '')), relation_type: relation.value });
        tell('Related.', () => send('DELETE', `/api/graph/edges/${edge.id}`), reload);
        reload();
      });
    },
  }, h('label', { for: 'relation' }, `#${memory.id} …`), relation, h('label', { for: 'target' }, 'The memory with the number'), target,
  actions(h('button', { class: 'button primary', type: 'submit' }, 'Relate')));
  const dialog = openDialog('Relate to another memory', form);
}
