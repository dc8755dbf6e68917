// Markdown into a tree. Pure: it knows nothing of documents, and nothing it gives is ever read as HTML.
//
// What must stay true: every character of the text ends up as text of some node; only http, https, mailto and paths of
// this page become links; raw HTML stays text; pictures become links, because loading one would tell a stranger that
// the memory was read. Nesting is bounded by DEPTH_MAX.

import { inline } from './markdown_inline.js';

/**
 * @typedef {{kind: string, text?: string, href?: string, level?: number, language?: string, ordered?: boolean,
 *   start?: number, checked?: boolean | null, header?: boolean, align?: string, children?: MarkNode[]}} MarkNode
 */

const DEPTH_MAX = 12;

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?:[ \t]+(.*)|)$/;
const DELIMITER = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

/**
 * @param {string} text
 * @returns {MarkNode[]}
 */
export function parse(text) {
  return blocks(text.replace(/\r\n?/g, '\n').replaceAll('\t', '    ').split('\n'), 0);
}

/**
 * @param {string[]} rows
 * @param {number} depth
 * @returns {MarkNode[]}
 */
function blocks(rows, depth) {
  /** @type {MarkNode[]} */
  const nodes = [];
  if (depth > DEPTH_MAX) return [{ kind: 'paragraph', children: [{ kind: 'text', text: rows.join('\n') }] }];
  let index = 0;
  while (index < rows.length) {
    const row = rows[index] ?? '';
    if (row.trim() === '') {
      index += 1;
      continue;
    }
    const next = fence(rows, index, nodes) ?? heading(row, index, nodes) ?? quote(rows, index, nodes, depth)
      ?? list(rows, index, nodes, depth) ?? table(rows, index, nodes) ?? paragraph(rows, index, nodes);
    index = next;
  }
  return nodes;
}

/**
 * @param {string[]} rows
 * @param {number} index
 * @param {MarkNode[]} nodes
 */
function fence(rows, index, nodes) {
  const open = FENCE.exec(rows[index] ?? '');
  if (!open) return undefined;
  const mark = open[1] ?? '```';
  const language = (open[2] ?? '').trim().split(/\s/)[0] ?? '';
  const inside = [];
  let end = index + 1;
  for (; end < rows.length; end += 1) {
    const row = (rows[end] ?? '').trim();
    if (row.startsWith(mark) && row.replaceAll(mark[0] ?? '`', '') === '') break;
    inside.push(rows[end] ?? '');
  }
  nodes.push({ kind: 'code', language, text: inside.join('\n') });
  return end + 1;
}

/**
 * @param {string} row
 * @param {number} index
 * @param {MarkNode[]} nodes
 */
function heading(row, index, nodes) {
  if (RULE.test(row)) {
    nodes.push({ kind: 'rule' });
    return index + 1;
  }
  const found = HEADING.exec(row);
  if (!found) return undefined;
  nodes.push({ kind: 'heading', level: (found[1] ?? '#').length, children: inline(found[2] ?? '') });
  return index + 1;
}

/**
 * @param {string[]} rows
 * @param {number} index
 * @param {MarkNode[]} nodes
 * @param {number} depth
 */
function quote(rows, index, nodes, depth) {
  if (!QUOTE.test(rows[index] ?? '')) return undefined;
  const inside = [];
  let end = index;
  for (; end < rows.length; end += 1) {
    const found = QUOTE.exec(rows[end] ?? '');
    if (!found) break;
    inside.push(found[1] ?? '');
  }
  nodes.push({ kind: 'quote', children: blocks(inside, depth + 1) });
  return end;
}

/**
 * @param {string[]} rows
 * @param {number} index
 * @param {MarkNode[]} nodes
 * @param {number} depth
 */
function list(rows, index, nodes, depth) {
  const first = ITEM.exec(rows[index] ?? '');
  if (!first || RULE.test(rows[index] ?? '')) return undefined;
  const ordered = /\d/.test(first[2] ?? '');
  /** @type {MarkNode} */
  const node = { kind: 'list', ordered, children: [] };
  if (ordered) node.start = Number.parseInt(first[2] ?? '1', 10);
  let at = index;
  while (at < rows.length) {
    const found = ITEM.exec(rows[at] ?? '');
    if (!found || /\d/.test(found[2] ?? '') !== ordered) break;
    const indent = (found[1] ?? '').length + (found[2] ?? '').length + 1;
    const inside = [found[3] ?? ''];
    at += 1;
    for (; at < rows.length; at += 1) {
      const row = rows[at] ?? '';
      const blank = row.trim() === '';
      const deeper = row.search(/\S/) >= Math.min(indent, 2);
      if (blank && !((rows[at + 1] ?? '').search(/\S/) >= 2)) break;
      if (!blank && !deeper && (ITEM.test(row) || startsBlock(row))) break;
      if (!blank && !deeper && (rows[at - 1] ?? '').trim() === '') break;
      inside.push(deeper ? row.slice(Math.min(indent, row.search(/\S/))) : row);
    }
    node.children?.push(item(inside, depth));
    while (at < rows.length && (rows[at] ?? '').trim() === '' && ITEM.test(rows[at + 1] ?? '')) at += 1;
  }
  nodes.push(node);
  return at;
}

/**
 * @param {string[]} inside
 * @param {number} depth
 * @returns {MarkNode}
 */
function item(inside, depth) {
  const task = /^\[([ xX])\] (.*)$/.exec(inside[0] ?? '');
  const checked = task ? task[1] !== ' ' : null;
  const rows = task ? [task[2] ?? '', ...inside.slice(1)] : inside;
  const children = blocks(rows, depth + 1);
  // A tight item has its text directly in it.
  const only = children[0];
  if (only?.kind === 'paragraph') children.splice(0, 1, ...(only.children ?? []));
  return { kind: 'item', checked, children };
}

/**
 * @param {string[]} rows
 * @param {number} index
 * @param {MarkNode[]} nodes
 */
function table(rows, index, nodes) {
  const head = rows[index] ?? '';
  if (!head.includes('|') || !DELIMITER.test(rows[index + 1] ?? '')) return undefined;
  const columns = cells(head);
  const aligns = cells(rows[index + 1] ?? '').map((cell) =>
    cell.startsWith(':') ? (cell.endsWith(':') ? 'center' : 'left') : cell.endsWith(':') ? 'right' : '');
  if (aligns.length !== columns.length) return undefined;
  const line = (/** @type {string[]} */ texts, /** @type {boolean} */ header) => ({
    kind: 'row',
    children: columns.map((_, column) => ({
      kind: 'cell', header, align: aligns[column] ?? '', children: inline(texts[column] ?? ''),
    })),
  });
  const children = [line(columns, true)];
  let end = index + 2;
  for (; end < rows.length && (rows[end] ?? '').includes('|'); end += 1) children.push(line(cells(rows[end] ?? ''), false));
  nodes.push({ kind: 'table', children });
  return end;
}

/** @param {string} row */
function cells(row) {
  const inner = row.trim().replace(/^\|/, '').replace(/(?<!\\)\|$/, '');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
}

/**
 * @param {string[]} rows
 * @param {number} index
 * @param {MarkNode[]} nodes
 */
function paragraph(rows, index, nodes) {
  const inside = [rows[index] ?? ''];
  let end = index + 1;
  for (; end < rows.length; end += 1) {
    const row = rows[end] ?? '';
    if (row.trim() === '' || startsBlock(row) || /^ {0,3}(?:[-*+]|1[.)])[ \t]+\S/.test(row)) break;
    inside.push(row);
  }
  nodes.push({ kind: 'paragraph', children: inline(inside.map((row) => row.replace(/^ {1,3}/, '')).join('\n')) });
  return end;
}

/** @param {string} row */
function startsBlock(row) {
  return FENCE.test(row) || HEADING.test(row) || QUOTE.test(row) || RULE.test(row);
}
