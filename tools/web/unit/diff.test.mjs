// The difference of two texts.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { lines, sequence } from '../../../crates/http/web/lib/diff.js';

/** A small generator, so that a failure can be repeated. @param {number} seed */
function random(seed) {
  let state = seed;
  return (/** @type {number} */ below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % below;
  };
}

test('both texts can be read from the difference, for a thousand pairs', () => {
  const next = random(7);
  for (let round = 0; round < 1_000; round += 1) {
    const text = () => Array.from({ length: next(12) }, () => 'abcd'[next(4)] ?? 'a');
    const [before, after] = [text(), text()];
    const pieces = sequence(before, after);
    assert.deepEqual(pieces.filter((piece) => piece.kind !== 'added').map((piece) => piece.text), before);
    assert.deepEqual(pieces.filter((piece) => piece.kind !== 'removed').map((piece) => piece.text), after);
  }
});

test('it is the shortest one', () => {
  const edits = sequence([...'abcabba'], [...'cbabac']).filter((piece) => piece.kind !== 'same').length;
  assert.equal(edits, 5);
});

test('changed words inside a line are marked, and lines are numbered on both sides', () => {
  const shown = lines('one\nkeys expire after an hour\nthree', 'one\nkeys expire after a day\nthree');
  assert.deepEqual(shown.map((line) => line.kind), ['same', 'removed', 'added', 'same']);
  const fresh = shown[2]?.words?.filter((word) => word.kind === 'added').map((word) => word.text);
  assert.deepEqual(fresh, ['a', 'day']);
  assert.deepEqual(shown.map((line) => [line.before, line.after]), [[1, 1], [2, undefined], [undefined, 2], [3, 3]]);
});

test('texts without anything in common are shown whole, and soon', () => {
  const long = (/** @type {string} */ word) => Array.from({ length: 6_000 }, (_, index) => `${word} ${index}`).join('\n');
  const started = performance.now();
  const shown = lines(long('old'), long('new'));
  assert.equal(shown.length, 12_000);
  assert.ok(performance.now() - started < 5_000);
});

test('an empty text has no lines', () => {
  assert.deepEqual(lines('', ''), []);
  assert.deepEqual(lines('', 'a').map((line) => line.kind), ['added']);
});
