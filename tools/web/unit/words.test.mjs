// Times, numbers, growth and schemas as text.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ceiling } from '../../../crates/http/web/lib/growth.js';
import { kind, shape } from '../../../crates/http/web/lib/schema.js';
import { bytes, count, counted, shortRoot, tokens } from '../../../crates/http/web/lib/text.js';
import { ago, date, dayKey, dayName, lastDays, moment, span } from '../../../crates/http/web/lib/time.js';

process.env.TZ = 'Europe/Amsterdam';
const now = Date.parse('2026-11-17T12:00:00Z');

test('a moment is told by its distance, and by its date once it is far', () => {
  assert.equal(ago('2026-11-17T11:59:30Z', now), 'just now');
  assert.equal(ago('2026-11-17T11:18:00Z', now), '42 min ago');
  assert.equal(ago('2026-11-16T11:00:00Z', now), 'yesterday');
  assert.equal(ago('2026-11-17T14:00:00Z', now), 'in 2 h');
  assert.equal(ago('2025-03-01T11:00:00Z', now), '1 Mar 2025');
  assert.equal(ago('', now), '');
  assert.equal(ago('no date', now), '');
  assert.equal(moment('2026-07-01T22:30:05Z'), '2026-07-02 00:30:05');
  assert.equal(date('2026-01-05T12:00:00Z', now), '5 Jan');
});

test('a duration has one unit', () => {
  assert.deepEqual([0, 999, 1_000, 61_000, 3_600_000, 90_000_000, 200_000_000].map(span), ['0 ms', '999 ms', '1 s', '1 min', '1 h', '1 day', '2 days']);
});

test('days are those of the reader, also around a change of clocks', () => {
  assert.equal(dayKey('2026-11-16T23:30:00Z'), '2026-11-17');
  assert.equal(dayName('2026-11-17', now), 'Today');
  assert.equal(dayName('2026-11-16', now), 'Yesterday');
  assert.equal(dayName('2026-11-13', now), 'Friday, 13 Nov');
  assert.equal(dayName('2026-10-01', now), '1 Oct');
  const around = lastDays(4, Date.parse('2026-10-26T11:00:00Z'));
  assert.deepEqual(around, ['2026-10-23', '2026-10-24', '2026-10-25', '2026-10-26']);
});

test('numbers have commas, bytes their unit, and counts agree with their noun', () => {
  assert.equal(count(1_234_567), '1,234,567');
  assert.equal(counted(1, 'memory', 'memories'), '1 memory');
  assert.equal(counted(0, 'memory', 'memories'), '0 memories');
  assert.equal(bytes(1023), '1023 B');
  assert.equal(bytes(1536), '1.5 KiB');
  assert.equal(bytes(614_400), '600 KiB');
  assert.equal(shortRoot('ab'.repeat(32)), 'abababab…ababab');
  assert.equal(tokens('four'), 1);
  assert.equal(tokens('記憶'), 2);
});

test('an axis ends at a round number', () => {
  assert.deepEqual([1, 5, 7, 11, 51, 99, 1_001].map(ceiling), [4, 6, 8, 20, 60, 100, 1_500]);
});

test('a schema reads like JSON, and a circle of references ends', () => {
  const whole = { components: { schemas: { Node: { properties: { id: { type: 'integer', description: 'Its number.' }, next: { $ref: '#/components/schemas/Node' } } } } } };
  const text = shape(whole, { $ref: '#/components/schemas/Node' }, 0);
  assert.match(text, /^\{\n {2}id: integer {2}\/\/ Its number\.\n {2}next: \{/);
  assert.ok(text.length < 2_000);
  assert.equal(kind({ type: 'array', items: { type: ['string', 'null'] } }), 'array of string or null');
});
