// Pieces that many pages share: badges, rows, cards, and what is shown while waiting or when something is wrong.

import { add, h, icon, pill, show } from './dom.js';
import { isCancelled, toldOf } from './api.js';
import { bare } from './text.js';
import { ago, clock, moment } from './time.js';

/**
 * The reader's own word for the type, with the colour of the type it belongs to.
 * @param {{type: string, memory_type: string}} memory
 */
export function badge(memory) {
  return h('span', { class: `badge t-${memory.memory_type}`, title: memory.memory_type }, memory.type || memory.memory_type);
}

/**
 * @param {string | null | undefined} when
 */
export function when(when) {
  return h('time', { datetime: when ?? '', title: moment(when) }, ago(when, Date.now()));
}

/** @param {string} at */
export function timeOfDay(at) {
  return h('time', { datetime: at, title: moment(at) }, clock(at));
}

/**
 * One memory as a row that opens it.
 * @param {any} memory a memory, a hit or a brief
 * @param {{preview?: string, extra?: Child, href?: string, dated?: boolean}} [options] `dated`: it stands under its day already
 */
export function memoryRow(memory, { preview, extra, href, dated } = {}) {
  const given = String(preview ?? memory.preview ?? memory.content ?? '');
  // A preview of the search begins with the title, which stands above it already.
  const text = given.startsWith(`${memory.title}. `) ? given.slice(memory.title.length + 2) : given;
  return h('a', { class: 'row', href: href ?? `/m/${memory.id}`, 'data-id': memory.id },
    h('span', { class: 'row-top' }, badge(memory), h('span', { class: 'row-title' }, bare(memory.title) || `Memory ${memory.id}`),
      memory.pinned && h('span', { class: 'mark', title: 'pinned' }, icon('pin'), h('span', { class: 'hidden' }, 'pinned')),
      memory.archived && pill('', 'archived'),
      memory.deleted_at && pill('bad', 'forgotten'),
      (memory.superseded || memory.standing === 'superseded') && pill('warn', 'superseded')),
    h('span', { class: 'row-sub' }, h('span', { class: 'row-text' }, plain(text)), extra),
    h('span', { class: 'row-meta' }, memory.project && h('span', {}, memory.project), dated ? timeOfDay(memory.created_at) : when(memory.created_at)));
}

/** Markdown marks taken out, on one line. @param {string} text */
export function plain(text) {
  return text.replace(/```\w*|[`*#>|]+|\[[ x]\]|-{3,}/g, '').replace(/\s+/g, ' ').trim().slice(0, 240);
}

/** A sentence in which `what is between marks` is code. @param {string} text */
export function coded(text) {
  return text.split('`').map((part, index) => (index % 2 === 1 ? h('code', {}, part) : part));
}

/**
 * @param {string} title
 * @param {{sub?: Child, actions?: Child}} [options]
 */
export function heading(title, { sub, actions } = {}) {
  document.title = title === 'Home' ? 'Cortex' : `${title} · Cortex`;
  return h('div', { class: 'page-head' }, h('div', {}, h('h1', {}, title), sub && h('p', { class: 'sub' }, sub)),
    actions && h('div', { class: 'actions' }, actions));
}

/**
 * @param {string} title
 * @param {Child} content
 * @param {{aside?: Child, class?: string, id?: string}} [options]
 */
export function card(title, content, options = {}) {
  const name = `card-${title.toLowerCase().replace(/\W+/g, '-')}`;
  return h('section', { class: `card ${options.class ?? ''}`, 'aria-labelledby': name, id: options.id },
    h('header', {}, h('h2', { id: name }, title), options.aside), content);
}

/**
 * @param {string} title
 * @param {Child} words
 * @param {Child} [action]
 */
export function empty(title, words, action) {
  return h('div', { class: 'empty' }, h('strong', {}, title), h('p', {}, words), action);
}

/** @param {number} rows */
export function skeleton(rows) {
  return h('div', { class: 'skeleton', 'aria-busy': 'true', 'aria-label': 'Loading' },
    Array.from({ length: rows }, () => h('span', { class: 'bone' })));
}

/**
 * Shows bones until the work is done, then what it gives; what goes wrong is shown in its place.
 * @param {Element} place
 * @param {() => Promise<Child>} work
 * @param {number} [rows]
 */
export async function fillIn(place, work, rows = 3) {
  show(place, skeleton(rows));
  try {
    show(place, await work());
  } catch (error) {
    if (!isCancelled(error)) show(place, problem(error));
  }
}

/** @param {unknown} error */
export function problem(error) {
  const { hint, status } = /** @type {any} */ (error);
  return h('div', { class: 'problem', role: 'alert' }, icon('warn'), h('div', {}, h('strong', {}, toldOf(error)),
    hint && h('p', {}, hint), status === undefined && h('p', {}, 'Is Cortex running? ', h('code', {}, 'cortex status'), ' tells.')));
}

/**
 * A command to copy.
 * @param {string} command
 */
export function commandLine(command) {
  const button = h('button', {
    class: 'icon-button', 'aria-label': `Copy ${command}`,
    onclick: async () => {
      await navigator.clipboard.writeText(command);
      show(button, icon('check'));
    },
  }, 'Copy');
  return h('span', { class: 'command' }, h('code', { tabindex: 0 }, command), button);
}

/**
 * A table with a heading row.
 * @param {string} label
 * @param {Child[]} columns
 * @param {Child[][]} rows
 */
export function table(label, columns, rows) {
  return h('div', { class: 'table', tabindex: 0, role: 'region', 'aria-label': label },
    h('table', {}, h('thead', {}, h('tr', {}, columns.map((column) => h('th', { scope: 'col' }, column)))),
      h('tbody', {}, rows.map((cells) => h('tr', {}, cells.map((cell) => h('td', {}, cell)))))));
}

/**
 * Names with values, one per line.
 * @param {[string, Child][]} pairs those without a value are left out
 */
export function details(pairs) {
  const list = h('dl', { class: 'details' });
  for (const [name, value] of pairs) {
    if (value === '' || value === null || value === undefined || value === false) continue;
    add(list, [h('dt', {}, name), h('dd', {}, value)]);
  }
  return list;
}
