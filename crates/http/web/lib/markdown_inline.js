// The inside of a Markdown paragraph: code, links, emphasis. Pure.

/** @typedef {import('./markdown.js').MarkNode} MarkNode */

const DEPTH_MAX = 8;
const TEXT_MAX = 20_000;
/** Marks that are looked at as the end of an emphasis: a row of stars must not cost time squared. */
const ENDS_MAX = 24;
const ESCAPED = /^\\([!-/:-@[-`{-~])/;
const ADDRESS = /^https?:\/\/[^\s<>"'`]*[^\s<>"'`.,;:!?)\]]/;
/** Memories are cited in brackets, or at the start of a line of a briefing: a bare #12 is mostly an issue of somebody else's. */
const CITED = /^#(\d{1,15})(?=(?:, #\d{1,15})*\])/;
const LISTED = /^#(\d{1,15})(?= \[)/;

/**
 * @param {string} text
 * @param {number} [depth]
 * @returns {MarkNode[]}
 */
export function inline(text, depth = 0) {
  // Beyond these bounds it is text: a hostile memory costs time to read, not to render.
  if (depth > DEPTH_MAX || text.length > TEXT_MAX) return [{ kind: 'text', text }];
  /** @type {MarkNode[]} */
  const nodes = [];
  let plain = '';
  let rest = text;
  const flush = () => {
    if (plain) nodes.push({ kind: 'text', text: plain });
    plain = '';
  };
  while (rest) {
    const before = plain.slice(-1);
    const found = escape(rest) ?? code(rest) ?? lineBreak(rest) ?? link(rest, depth) ?? emphasis(rest, before, depth)
      ?? address(rest, before);
    if (!found) {
      plain += rest[0];
      rest = rest.slice(1);
      continue;
    }
    if (found.node.kind === 'text') plain += found.node.text ?? '';
    else {
      flush();
      nodes.push(found.node);
    }
    rest = rest.slice(found.length);
  }
  flush();
  return nodes;
}

/** @typedef {{node: MarkNode, length: number} | undefined} Found */

/**
 * @param {string} rest
 * @returns {Found}
 */
function escape(rest) {
  const found = ESCAPED.exec(rest);
  return found ? { node: { kind: 'text', text: found[1] ?? '' }, length: 2 } : undefined;
}

/**
 * @param {string} rest
 * @returns {Found}
 */
function code(rest) {
  const open = /^`+/.exec(rest)?.[0];
  if (!open) return undefined;
  let end = rest.indexOf(open, open.length);
  while (end >= 0 && (rest[end + open.length] === '`' || rest[end - 1] === '`')) end = rest.indexOf(open, end + 1);
  // Marks that nothing closes are text, all of them at once.
  if (end < 0) return { node: { kind: 'text', text: open }, length: open.length };
  const inside = rest.slice(open.length, end).replaceAll('\n', ' ');
  const text = /^ .*\S.* $/.test(inside) ? inside.slice(1, -1) : inside;
  return { node: { kind: 'inline_code', text }, length: end + open.length };
}

/**
 * @param {string} rest
 * @returns {Found}
 */
function lineBreak(rest) {
  const found = /^(?: {2,}|\\)\n/.exec(rest);
  return found ? { node: { kind: 'break' }, length: found[0].length } : undefined;
}

/**
 * @param {string} rest
 * @param {number} depth
 * @returns {Found}
 */
function link(rest, depth) {
  const found = /^(!?)\[((?:[^[\]\\]|\\.|\[[^[\]]*\])*)\]\(\s*<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/
    .exec(rest);
  if (!found) return undefined;
  const href = safeAddress(found[3] ?? '');
  const label = found[2] || found[3] || '';
  // An address that must not be followed: the reader sees what was written.
  if (href === null) return { node: { kind: 'text', text: found[0] }, length: found[0].length };
  const children = found[1] ? [{ kind: 'text', text: `picture: ${label}` }] : inline(label, depth + 1);
  return { node: { kind: 'link', href, children }, length: found[0].length };
}

/**
 * @param {string} rest
 * @param {string} before the character in front
 * @param {number} depth
 * @returns {Found}
 */
function emphasis(rest, before, depth) {
  const mark = /^(?:\*\*|__|~~|\*|_)/.exec(rest)?.[0];
  if (!mark) return undefined;
  // Underscores inside words are names, not emphasis.
  if (mark.startsWith('_') && /\w/.test(before)) return { node: { kind: 'text', text: mark }, length: mark.length };
  const after = rest[mark.length] ?? '';
  if (after === '' || /\s/.test(after)) return undefined;
  let end = rest.indexOf(mark, mark.length);
  for (let tries = 0; end > 0; end = rest.indexOf(mark, end + 1), tries += 1) {
    if (tries === ENDS_MAX) return undefined;
    const doubled = mark.length === 1 && (rest[end + 1] === mark || rest[end - 1] === mark);
    // `__init__.py` and `__call__()` are names as well.
    const inWord = mark.startsWith('_') && /^(?:\w|\.\w|\()/.test(rest.slice(end + mark.length, end + mark.length + 2));
    if (!doubled && !inWord && !/\s/.test(rest[end - 1] ?? ' ')) break;
  }
  if (end <= mark.length) return undefined;
  const kind = mark === '~~' ? 'deleted' : mark.length === 2 ? 'strong' : 'emphasis';
  const children = inline(rest.slice(mark.length, end), depth + 1);
  return { node: { kind, children }, length: end + mark.length };
}

/**
 * @param {string} rest
 * @param {string} before
 * @returns {Found}
 */
function address(rest, before) {
  const angle = /^<(https?:\/\/[^\s<>]+)>/.exec(rest);
  if (angle) return linked(angle[1] ?? '', angle[1] ?? '', angle[0].length);
  if (/[\w/#&]/.test(before)) return undefined;
  const bare = ADDRESS.exec(rest);
  if (bare) return linked(bare[0], bare[0], bare[0].length);
  const memory = before === '' ? LISTED.exec(rest) : before === '[' || before === ' ' ? CITED.exec(rest) : null;
  return memory ? linked(`/m/${memory[1]}`, memory[0], memory[0].length) : undefined;
}

/**
 * @param {string} href
 * @param {string} label
 * @param {number} length
 * @returns {Found}
 */
function linked(href, label, length) {
  const safe = safeAddress(href);
  if (safe === null) return undefined;
  return { node: { kind: 'link', href: safe, children: [{ kind: 'text', text: label }] }, length };
}

/**
 * The address if a reader may follow it, else null. `cortex://actor/Type/12#3` becomes a path of this page.
 * @param {string} given
 * @returns {string | null}
 */
export function safeAddress(given) {
  // Browsers ignore control characters and spaces inside a scheme, so an address that has any is refused.
  if (/[\u0000-\u0020\u007f-\u009f\u00ad\u200b-\u200f\u2028\u2029\ufeff\\]/.test(given)) return null;
  const memory = /^cortex:\/\/[a-z0-9._-]+\/\w+\/(\d+)#(\d+)$/.exec(given);
  if (memory) return `/m/${memory[1]}@${memory[2]}`;
  if (/^https?:\/\/[^/]/i.test(given) || /^mailto:[^\s]/i.test(given)) return given;
  if (/^\/(?:m|search|memories)(?:[/?#]|$)/.test(given)) return given;
  return null;
}
