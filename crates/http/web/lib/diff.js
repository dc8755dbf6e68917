// The difference of two texts, line by line and then word by word inside lines that changed. Pure.
//
// Myers' greedy algorithm with a bound: texts that differ by more than EDITS_MAX lines are shown as one removal and one
// addition, because nobody reads such a diff and it would take long to find.

const EDITS_MAX = 2_000;

/** @typedef {{kind: 'same' | 'removed' | 'added', text: string}} Piece */
/** @typedef {Piece & {words?: Piece[], before?: number, after?: number}} Line */

/**
 * @param {string} before
 * @param {string} after
 * @returns {Line[]}
 */
export function lines(before, after) {
  const pieces = sequence(split(before), split(after));
  /** @type {Line[]} */
  const shown = pieces.map((piece) => ({ ...piece }));
  let left = 0;
  let right = 0;
  for (const line of shown) {
    if (line.kind !== 'added') line.before = ++left;
    if (line.kind !== 'removed') line.after = ++right;
  }
  for (let index = 0; index < shown.length; index += 1) pairWords(shown, index);
  return shown;
}

/** @param {string} text */
function split(text) {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

/**
 * A run of removed lines right before a run of added ones of the same length is read as changed lines.
 * @param {Line[]} shown
 * @param {number} start
 */
function pairWords(shown, start) {
  if (shown[start]?.kind !== 'removed' || shown[start - 1]?.kind === 'removed') return;
  let middle = start;
  while (shown[middle]?.kind === 'removed') middle += 1;
  let end = middle;
  while (shown[end]?.kind === 'added') end += 1;
  if (middle - start !== end - middle) return;
  for (let offset = 0; offset < middle - start; offset += 1) {
    const old = shown[start + offset];
    const fresh = shown[middle + offset];
    if (!old || !fresh) continue;
    const pieces = sequence(wordsOf(old.text), wordsOf(fresh.text));
    const shared = pieces.filter((piece) => piece.kind === 'same').reduce((sum, piece) => sum + piece.text.length, 0);
    if (shared * 2 < Math.min(old.text.length, fresh.text.length)) continue;
    old.words = pieces.filter((piece) => piece.kind !== 'added');
    fresh.words = pieces.filter((piece) => piece.kind !== 'removed');
  }
}

/** @param {string} line */
function wordsOf(line) {
  return line.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
}

/**
 * @param {string[]} before
 * @param {string[]} after
 * @returns {Piece[]}
 */
export function sequence(before, after) {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < before.length - head && tail < after.length - head
    && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  const middle = myers(before.slice(head, before.length - tail), after.slice(head, after.length - tail));
  return [
    ...before.slice(0, head).map((text) => piece('same', text)),
    ...middle,
    ...before.slice(before.length - tail).map((text) => piece('same', text)),
  ];
}

/**
 * @param {Piece['kind']} kind
 * @param {string} text
 * @returns {Piece}
 */
function piece(kind, text) {
  return { kind, text };
}

/**
 * @param {string[]} before
 * @param {string[]} after
 * @returns {Piece[]}
 */
function myers(before, after) {
  const limit = Math.min(before.length + after.length, EDITS_MAX);
  const offset = limit + 1;
  const furthest = new Int32Array(2 * limit + 3);
  /** @type {Int32Array[]} */
  const trace = [];
  for (let edits = 0; edits <= limit; edits += 1) {
    trace.push(furthest.slice(offset - edits - 1, offset + edits + 2));
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && at(furthest, offset + k - 1) < at(furthest, offset + k + 1));
      let x = down ? at(furthest, offset + k + 1) : at(furthest, offset + k - 1) + 1;
      while (x < before.length && x - k < after.length && before[x] === after[x - k]) x += 1;
      furthest[offset + k] = x;
      if (x >= before.length && x - k >= after.length) return walkBack(trace, before, after);
    }
  }
  return [...before.map((text) => piece('removed', text)), ...after.map((text) => piece('added', text))];
}

/**
 * @param {Int32Array[]} trace
 * @param {string[]} before
 * @param {string[]} after
 */
function walkBack(trace, before, after) {
  /** @type {Piece[]} */
  const pieces = [];
  let x = before.length;
  let y = after.length;
  for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
    const row = /** @type {Int32Array} */ (trace[edits]);
    const middle = edits + 1;
    const k = x - y;
    const down = k === -edits || (k !== edits && at(row, middle + k - 1) < at(row, middle + k + 1));
    const from = down ? at(row, middle + k + 1) : at(row, middle + k - 1);
    const start = edits === 0 ? 0 : from;
    const startY = edits === 0 ? 0 : from - (down ? k + 1 : k - 1);
    while (x > start && y > startY && before[x - 1] === after[y - 1]) {
      pieces.push(piece('same', before[x - 1] ?? ''));
      x -= 1;
      y -= 1;
    }
    if (edits === 0) break;
    if (down) pieces.push(piece('added', after[--y] ?? ''));
    else pieces.push(piece('removed', before[--x] ?? ''));
  }
  return pieces.reverse();
}

/**
 * @param {Int32Array} row
 * @param {number} index
 */
function at(row, index) {
  return row[index] ?? 0;
}
