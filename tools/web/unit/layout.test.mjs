// Where the nodes of a graph stand.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { layout } from '../../../crates/http/web/lib/layout.js';

const edges = Array.from({ length: 60 }, (_, index) => ({ from: 1 + (index % 9), to: 2 + index }));

test('the same root and edges give the same picture, in whatever order they come', () => {
  const first = layout(1, edges, 100);
  assert.deepEqual(layout(1, [...edges].reverse(), 100), first);
  assert.deepEqual(first.places[0], { id: 1, hop: 0, x: 0, y: 0 });
});

test('no two nodes stand in the same place', () => {
  const { places } = layout(1, edges, 100);
  assert.equal(new Set(places.map(({ x, y }) => `${x} ${y}`)).size, places.length);
  for (const place of places) assert.ok(Number.isFinite(place.x) && Number.isFinite(place.y));
});

test('it never places more than it was allowed, and says how many are left out', () => {
  const { places, leftOut } = layout(1, edges, 20);
  assert.equal(places.length, 20);
  assert.equal(leftOut, 61 - 20);
});

test('loops, double edges and a lonely root are no trouble', () => {
  assert.equal(layout(5, [], 10).places.length, 1);
  assert.equal(layout(5, [{ from: 5, to: 5 }, { from: 5, to: 6 }, { from: 6, to: 5 }], 10).places.length, 2);
});
