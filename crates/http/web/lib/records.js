// The records of a proof file, field by field, after docs/format.md, sections 4 to 6 and 11. Pure.
//
// A record is read by a table from key to [name, how the value is read]; a key that is not in the table, or one that is
// missing, refuses the whole file. Each record keeps the exact bytes it was read from, because those are hashed.

import { decode, Refused } from './cbor.js';

/** @typedef {import('./cbor.js').CborValue} CborValue */
/** @typedef {(value: CborValue) => any} Read */
/** @typedef {{[key: number]: [string, Read, 'optional'?]}} Fields */

/** @type {Read} */
export const uint = (value) => {
  if (typeof value !== 'number' || value < 0) throw new Refused('a whole number is expected');
  return value;
};
/** @type {Read} */
const millis = (value) => {
  if (typeof value !== 'number') throw new Refused('a time is expected');
  return value;
};
/** @type {Read} */
export const id = (value) => {
  if (uint(value) === 0) throw new Refused('an id is above zero');
  return value;
};
/** @type {Read} */
const string = (value) => {
  if (typeof value !== 'string') throw new Refused('a text is expected');
  return value;
};
/** @type {Read} */
const flag = (value) => {
  if (typeof value !== 'boolean') throw new Refused('true or false is expected');
  return value;
};
/** @type {Read} */
export const bytes = (value) => {
  if (!(value instanceof Uint8Array)) throw new Refused('bytes are expected');
  return value;
};
/** @type {Read} */
export const digest = (value) => {
  if (bytes(value).length !== 32) throw new Refused('a digest has 32 bytes');
  return value;
};
/** @type {Read} */
const ppm = (value) => {
  if (uint(value) > 1_000_000) throw new Refused('a share is at most a million parts');
  return value;
};

/** @param {number} highest */
const word = (highest) => (/** @type {CborValue} */ value) => {
  if (uint(value) < 1 || /** @type {number} */ (value) > highest) throw new Refused('a code that nothing has');
  return value;
};

/** @param {Read} read */
export const list = (read) => (/** @type {CborValue} */ value) => {
  if (!Array.isArray(value)) throw new Refused('a list is expected');
  return value.map(read);
};

/** @param {Fields} fields */
export const record = (fields) => (/** @type {CborValue} */ value) => {
  if (!(value instanceof Map)) throw new Refused('a record is expected');
  /** @type {any} */
  const out = {};
  for (const key of value.keys()) if (!fields[key]) throw new Refused(`a record has no key ${key}`);
  for (const [key, [name, read, optional]] of Object.entries(fields)) {
    const field = value.get(Number(key));
    if (field === undefined && !optional) throw new Refused(`${name} is missing`);
    out[name] = field === undefined ? null : read(field);
  }
  return out;
};

/** A variant with content: its code, then its fields. */
export const variant = (/** @type {CborValue} */ value) => {
  if (!Array.isArray(value) || value.length !== 2 || !Array.isArray(value[1])) throw new Refused('a variant is expected');
  return { code: uint(/** @type {CborValue} */ (value[0])), fields: value[1] };
};

/** @type {Read} */
const sortedTags = (value) => {
  const tags = list(string)(value);
  const encoder = new TextEncoder();
  for (let index = 1; index < tags.length; index += 1) {
    if (compare(encoder.encode(tags[index - 1]), encoder.encode(tags[index])) >= 0) throw new Refused('tags are sorted');
  }
  return tags;
};

const pinned = record({ 0: ['id', id], 1: ['version', uint] });
const provenance = record({
  0: ['source', word(4)], 1: ['derived_from', list(pinned)], 2: ['model', string, 'optional'], 3: ['origin', string, 'optional'],
});
const tombstone = record({ 0: ['reason', string], 1: ['by', string], 2: ['at', millis] });

export const head = record({
  0: ['id', id], 1: ['memory_type', word(9)], 2: ['kind', string], 3: ['version', uint], 4: ['version_hash', digest],
  5: ['project', string, 'optional'], 6: ['scope', word(2)], 7: ['visibility', word(3)], 8: ['pinned', flag],
  9: ['archived', flag], 10: ['tombstone', tombstone, 'optional'], 11: ['erased', flag], 12: ['tags', sortedTags],
  13: ['topic_key', string, 'optional'], 14: ['session', string, 'optional'], 15: ['channel', string, 'optional'],
  16: ['importance', ppm], 17: ['duplicates', uint], 18: ['created', millis], 19: ['updated', millis], 20: ['seq', uint],
});

export const version = record({
  0: ['id', id], 1: ['n', uint], 2: ['body_hash', digest], 3: ['created', millis], 4: ['by', string],
  5: ['provenance', provenance], 6: ['confidence', ppm], 7: ['valid_from', millis, 'optional'],
  8: ['valid_until', millis, 'optional'], 9: ['expires', millis, 'optional'], 10: ['seq', uint],
});

export const sealed = record({ 0: ['salt', bytes], 1: ['bytes', bytes] });

const idempotency = record({ 0: ['key', string], 1: ['request', digest] });
export const entry = record({
  0: ['schema', uint], 1: ['seq', uint], 2: ['kind', word(22)], 3: ['at', millis], 4: ['by', string], 5: ['payload', bytes],
  6: ['run', string, 'optional'], 7: ['idempotency', idempotency, 'optional'],
});

export const write = record({
  0: ['memory_type', word(9)], 1: ['kind', string], 2: ['body_hash', digest], 3: ['project', string, 'optional'],
  4: ['scope', word(2)], 5: ['visibility', word(3)], 6: ['pinned', flag], 7: ['tags', sortedTags],
  8: ['topic_key', string, 'optional'], 9: ['session', string, 'optional'], 10: ['channel', string, 'optional'],
  11: ['importance', ppm], 12: ['provenance', provenance], 13: ['confidence', ppm], 14: ['valid_from', millis, 'optional'],
  15: ['valid_until', millis, 'optional'], 16: ['expires', millis, 'optional'],
});

const patch = record({
  0: ['kind', string, 'optional'], 1: ['project', string, 'optional'], 2: ['scope', word(2), 'optional'],
  3: ['visibility', word(3), 'optional'], 4: ['pinned', flag, 'optional'], 5: ['archived', flag, 'optional'],
  6: ['tags', sortedTags, 'optional'], 7: ['topic_key', string, 'optional'], 8: ['session', string, 'optional'],
  9: ['channel', string, 'optional'], 10: ['importance', ppm, 'optional'], 11: ['duplicates', uint, 'optional'],
});

export const update = record({
  0: ['id', id], 1: ['version', uint], 2: ['body_hash', digest], 3: ['provenance', provenance], 4: ['confidence', ppm],
  5: ['valid_from', millis, 'optional'], 6: ['valid_until', millis, 'optional'], 7: ['expires', millis, 'optional'],
  8: ['patch', patch],
});

/** Fields of a body by type code; section 5. @type {{[code: number]: Read}} */
const BODY_FIELDS = {
  1: record({ 0: ['name', string, 'optional'], 1: ['aliases', list(string)], 2: ['role', string, 'optional'] }),
  2: record({ 0: ['status', word(4)], 1: ['due', millis, 'optional'], 2: ['criteria', list(string)] }),
  3: record({ 0: ['topic', string, 'optional'], 1: ['polarity', word(3)], 2: ['strength', ppm, 'optional'] }),
  4: record({ 0: ['strength', word(3)], 1: ['trigger', string, 'optional'] }),
  5: record({ 0: ['rationale', string, 'optional'], 1: ['alternatives', list(string)], 2: ['status', word(4)] }),
  6: record({
    0: ['subject', string, 'optional'], 1: ['predicate', string, 'optional'], 2: ['object', string, 'optional'],
    3: ['as_of', millis, 'optional'],
  }),
  7: record({ 0: ['strength', ppm, 'optional'], 1: ['coverage', uint, 'optional'], 2: ['evidence', list(id)] }),
  8: record({ 0: ['happened_at', millis, 'optional'], 1: ['outcome', word(3), 'optional'], 2: ['participants', list(string)] }),
  9: record({
    0: ['uri', string, 'optional'], 1: ['digest', string, 'optional'], 2: ['media_type', string, 'optional'],
    3: ['size', uint, 'optional'],
  }),
};

/** @type {Read} */
const bodyFields = (value) => {
  const { code, fields } = variant(value);
  const read = BODY_FIELDS[code];
  if (!read || fields.length !== 1) throw new Refused('a body of no known type');
  return { code, ...read(/** @type {CborValue} */ (fields[0])) };
};

const body = record({ 0: ['title', string], 1: ['content', string], 2: ['fields', bodyFields] });

/** @param {Uint8Array} given */
export function readBody(given) {
  return body(decode(given));
}

/** @param {Uint8Array} given */
export function readEntry(given) {
  return entry(decode(given));
}

/**
 * @param {Uint8Array} left
 * @param {Uint8Array} right
 */
export function compare(left, right) {
  const shared = Math.min(left.length, right.length);
  for (let index = 0; index < shared; index += 1) {
    const difference = /** @type {number} */ (left[index]) - /** @type {number} */ (right[index]);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}
