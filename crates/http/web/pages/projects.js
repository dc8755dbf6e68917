// Projects: what there is about each, its other names, and which names look like one. Two names become one here, and two
// again.

import { get, send } from '../lib/api.js';
import { openDialog } from '../lib/dialog.js';
import { actions, button, h, map, quietLine, show } from '../lib/dom.js';
import { card, empty, heading, when } from '../lib/parts.js';
import { go, reload } from '../lib/router.js';
import { keep } from '../lib/state.js';
import { count, counted } from '../lib/text.js';
import { attempt, tell } from '../lib/toast.js';

/** @param {Visit} visit */
export async function open({ signal }) {
  const answer = await get('/api/projects', {}, signal);
  const look = (/** @type {string} */ name, /** @type {string} */ path) => {
    keep('project', name);
    const box = /** @type {HTMLSelectElement | null} */ (document.querySelector('#project'));
    if (box) box.value = name;
    go(path);
  };
  if (answer.projects.length === 0) return [heading('Projects'), empty('No project yet', 'The first memory that is saved inside a repository makes one.')];
  const named = answer.projects.filter((/** @type {any} */ each) => each.name);
  const names = map(named, (each) => each.name);
  // The one with more memories stays.
  const alike = named.flatMap((/** @type {any} */ one, /** @type {number} */ index) => named.slice(index + 1).filter((/** @type {any} */ other) => bareName(other.name) === bareName(one.name))
    .map((/** @type {any} */ other) => (one.memories >= other.memories ? [one.name, other.name] : [other.name, one.name])));
  return [
    heading('Projects', { sub: `${counted(answer.projects.length, 'project')}${answer.capped ? ' and more' : ''}, the latest activity first` }),
    alike.length > 0 && card('Names that look alike', h('ul', {}, alike.map((/** @type {string[]} */ [kept = '', gone = '']) => h('li', { class: 'finding' }, h('div', {}, h('b', {}, gone), ' and ', h('b', {}, kept)),
      button('small', () => merge(gone, names, kept), 'Make them one…')))), { class: 'warn-card' }),
    h('div', { class: 'projects-grid' }, map(answer.projects, (each) => h('section', { class: 'card', 'aria-label': each.name || 'no project' },
      h('h2', {}, each.name || 'no project'), h('p', {}, h('span', { class: 'big' }, count(each.memories)), each.memories === 1 ? ' memory' : ' memories'),
      quietLine('last active ', when(each.last_activity)), each.aliases.length > 0 && quietLine('also ', each.aliases.join(', ')),
      each.name && actions(button('small', () => look(each.name, '/memories'), 'Memories'),
        button('small', () => look(each.name, '/context'), 'Agents see'), names.length > 1 && button('small', () => merge(each.name, names, ''), 'Merge…'))))),
  ];
}

/** A name without what people write in different ways. @param {string} name */
function bareName(name) {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

/**
 * Asks into which one, says how much would move, and does it.
 * @param {string} from
 * @param {string[]} names
 * @param {string} proposed
 */
function merge(from, names, proposed) {
  const others = names.filter((name) => name !== from);
  const told = quietLine('');
  const box = /** @type {HTMLSelectElement} */ (h('select', { id: 'merge-into', onchange: () => void tellCount() }, others.map((name) => h('option', { value: name, selected: name === proposed }, name))));
  const tellCount = async () => {
    try {
      const { moved } = await send('POST', '/api/projects/merge', { from: [from], to: box.value, dry_run: true });
      show(told, `${counted(moved, 'memory moves', 'memories move')}, and from now on ${from} means ${box.value}.`);
    } catch (error) {
      show(told, /** @type {any} */ (error).message);
    }
  };
  const dialog = openDialog(`Merge ${from}`, h('form', { onsubmit: async (event) => {
    event.preventDefault();
    dialog.close();
    await attempt(async () => {
      const done = await send('POST', '/api/projects/merge', { from: [from], to: box.value });
      tell(`${from} is ${done.to} now.`, async () => {
        for (const name of done.given_up ?? []) await send('POST', '/api/projects/separate', { name });
        for (const request of done.undo ?? []) await send('POST', '/api/observations/bulk', request);
      }, reload);
      reload();
    });
  } }, h('label', { for: 'merge-into' }, 'Into'), box, told, actions(h('button', { class: 'button primary', type: 'submit' }, 'Merge'))));
  void tellCount();
}
