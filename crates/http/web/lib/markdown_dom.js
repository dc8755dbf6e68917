// A Markdown tree as nodes of the document. Only the elements named here are ever made.

import { h } from './dom.js';
import { parse } from './markdown.js';

/** @typedef {import('./markdown.js').MarkNode} MarkNode */

/**
 * @param {string} text
 * @returns {HTMLElement}
 */
export function markdown(text) {
  return h('div', { class: 'prose' }, parse(text).map(element));
}

/** @type {{[kind: string]: string}} */
const PLAIN = { paragraph: 'p', quote: 'blockquote', strong: 'strong', emphasis: 'em', deleted: 'del', row: 'tr' };

/**
 * @param {MarkNode} node
 * @returns {Node}
 */
function element(node) {
  const inside = () => (node.children ?? []).map(element);
  const tag = PLAIN[node.kind];
  if (tag) return h(tag, {}, inside());
  switch (node.kind) {
    case 'text': return document.createTextNode(node.text ?? '');
    case 'break': return h('br');
    case 'rule': return h('hr');
    // The page has its own headings above, so those of a text begin below them.
    case 'heading': return h(`h${Math.min(6, (node.level ?? 1) + 2)}`, {}, inside());
    case 'inline_code': return h('code', {}, node.text ?? '');
    case 'code': return h('pre', { tabindex: 0, 'data-language': node.language || null }, h('code', {}, codeLines(node)));
    case 'list': return h(node.ordered ? 'ol' : 'ul', { start: node.ordered && node.start !== 1 ? node.start : null }, inside());
    case 'item': return item(node, inside());
    case 'table': return tableOf(node);
    case 'cell': return h(node.header ? 'th' : 'td', { class: node.align ? `align-${node.align}` : null }, inside());
    case 'link': return link(node, inside());
    default: return document.createTextNode(node.text ?? '');
  }
}

/** @param {MarkNode} node */
function codeLines(node) {
  const text = node.text ?? '';
  if (node.language !== 'diff') return text;
  return text.split('\n').map((line) => h('span', {
    class: line.startsWith('+') ? 'line added' : line.startsWith('-') ? 'line removed' : 'line',
  }, `${line}\n`));
}

/**
 * @param {MarkNode} node
 * @param {Node[]} inside
 */
function item(node, inside) {
  if (node.checked === null || node.checked === undefined) return h('li', {}, inside);
  const box = h('span', { class: node.checked ? 'task done' : 'task', role: 'img', 'aria-label': node.checked ? 'done' : 'open' });
  return h('li', { class: 'with-task' }, box, inside);
}

/** @param {MarkNode} node */
function tableOf(node) {
  const [head, ...rows] = (node.children ?? []).map(element);
  return h('div', { class: 'table', tabindex: 0, role: 'region', 'aria-label': 'Table' },
    h('table', {}, h('thead', {}, head), h('tbody', {}, rows)));
}

/**
 * @param {MarkNode} node
 * @param {Node[]} inside
 */
function link(node, inside) {
  const href = node.href ?? '';
  const outside = !href.startsWith('/');
  return h('a', outside ? { href, rel: 'noopener noreferrer', target: '_blank' } : { href }, inside);
}
