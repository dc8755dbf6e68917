// The trees of docs/format.md, sections 7 to 9: hashes, inclusion in the journal, presence and absence in the state.
//
// Every function recomputes a root from what the file shows and compares. Everything a proof brings must be used up.

import { Refused } from './cbor.js';
import { compare, digest, bytes, list, record, uint } from './records.js';

const ENCODER = new TextEncoder();
const EMPTY = ENCODER.encode('SPARSE_MERKLE_PLACEHOLDER_HASH__');

/**
 * @param {...(Uint8Array | string | number)} parts texts are ASCII domains, numbers single bytes
 * @returns {Promise<Uint8Array>}
 */
export async function hash(...parts) {
  const pieces = parts.map((part) =>
    typeof part === 'string' ? ENCODER.encode(part) : typeof part === 'number' ? Uint8Array.of(part) : part);
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return new Uint8Array(await crypto.subtle.digest('SHA-256', whole));
}

/**
 * A number as eight bytes, the most significant first.
 * @param {number} value
 */
export function u64(value) {
  const out = new Uint8Array(8);
  new DataView(out.buffer).setBigUint64(0, BigInt(value));
  return out;
}

/**
 * @param {Uint8Array} left
 * @param {Uint8Array} right
 */
export function same(left, right) {
  return compare(left, right) === 0;
}

/** Bit `index` of a key, from the most significant bit of its first byte. */
function bit(/** @type {Uint8Array} */ key, /** @type {number} */ index) {
  return (/** @type {number} */ (key[index >> 3]) >> (7 - (index & 7))) & 1;
}

/**
 * Key of a head: `type u8 | L u8 | below(id) u64 | zeros`.
 * @param {number} type
 * @param {number} id
 */
export function headKey(type, id) {
  const key = new Uint8Array(32);
  const value = BigInt(id);
  const level = value.toString(2).length - 1;
  key[0] = type;
  key[1] = level;
  const below = value - (1n << BigInt(level));
  new DataView(key.buffer).setBigUint64(2, below << BigInt(64 - level) & 0xffffffffffffffffn);
  return key;
}

/**
 * RFC 9162, 2.1.3.2: entry `index` of `size` is in the tree with this root.
 * @param {Uint8Array} leaf
 * @param {number} index
 * @param {number} size
 * @param {Uint8Array[]} path
 * @param {Uint8Array} root
 */
export async function checkInclusion(leaf, index, size, path, root) {
  if (index >= size) throw new Refused('the entry is not below the size');
  let node = BigInt(index);
  let last = BigInt(size) - 1n;
  let computed = leaf;
  for (const sibling of path) {
    if (last === 0n) throw new Refused('the path of the entry is too long');
    if (node % 2n === 1n || node === last) {
      computed = await hash(1, sibling, computed);
      while (node % 2n === 0n && node !== 0n) {
        node >>= 1n;
        last >>= 1n;
      }
    } else {
      computed = await hash(1, computed, sibling);
    }
    node >>= 1n;
    last >>= 1n;
  }
  if (last !== 0n || !same(computed, root)) throw new Refused('the entry is not in the journal');
}

const leaf = record({ 0: ['key', digest], 1: ['value_hash', digest] });
const siblings = record({ 0: ['depth', uint], 1: ['present', bytes], 2: ['hashes', list(digest)] });
export const treeProof = record({ 0: ['siblings', siblings], 1: ['other', leaf, 'optional'] });
export const multiProof = record({ 0: ['shape', bytes], 1: ['hashes', list(digest)], 2: ['others', list(leaf)] });
export const inclusionProof = record({ 0: ['path', list(digest)] });

/**
 * @param {Uint8Array} key
 * @param {Uint8Array} valueHash
 */
function leafNode(key, valueHash) {
  return hash('JMT::LeafNode', key, valueHash);
}

/**
 * The key is in the tree with this value.
 * @param {Uint8Array} root
 * @param {Uint8Array} key
 * @param {Uint8Array} valueHash
 * @param {any} proof
 */
export async function checkPresent(root, key, valueHash, proof) {
  if (proof.other !== null) throw new Refused('a present key has no other leaf');
  const { depth, present, hashes } = proof.siblings;
  if (depth > 256 || present.length !== Math.ceil(depth / 8)) throw new Refused('the path has no such depth');
  const path = [];
  let next = 0;
  for (let level = 0; level < present.length * 8; level += 1) {
    const set = bit(present, level) === 1;
    if (level >= depth && set) throw new Refused('unused bits are zero');
    if (level >= depth) continue;
    const sibling = set ? hashes[next++] : EMPTY;
    if (!sibling || (set && same(sibling, EMPTY))) throw new Refused('a sibling is missing or empty');
    path.push(sibling);
  }
  if (next !== hashes.length) throw new Refused('a sibling is left over');
  let node = await leafNode(key, valueHash);
  for (let level = depth - 1; level >= 0; level -= 1) {
    const sibling = path[level];
    node = bit(key, level) ? await hash('JMT::IntrnalNode', sibling, node) : await hash('JMT::IntrnalNode', node, sibling);
  }
  if (!same(node, root)) throw new Refused('the memory is not in the state');
}

/**
 * None of the keys is in the tree.
 * @param {Uint8Array} root
 * @param {Uint8Array[]} keys
 * @param {any} proof
 */
export async function checkAbsent(root, keys, proof) {
  let shapeAt = 0;
  let hashAt = 0;
  let otherAt = 0;
  const shape = () => {
    const byte = proof.shape[shapeAt >> 2];
    if (byte === undefined) throw new Refused('the shape ends too early');
    return (byte >> (6 - 2 * (shapeAt++ & 3))) & 3;
  };
  /**
   * @param {Uint8Array[]} claims
   * @param {Uint8Array} path
   * @param {number} depth
   * @returns {Promise<Uint8Array>}
   */
  const walk = async (claims, path, depth) => {
    const kind = shape();
    if (kind === 1) {
      if (claims.length > 0) throw new Refused('a claim leads to what is not shown');
      const node = proof.hashes[hashAt++];
      if (!node || same(node, EMPTY)) throw new Refused('a hash is missing or empty');
      return node;
    }
    if (kind === 0) return EMPTY;
    if (claims.length === 0) throw new Refused('no claim leads here');
    if (kind === 2) {
      const other = proof.others[otherAt++];
      if (!other || !sharesBits(other.key, path, depth) || keys.some((key) => same(key, other.key))) {
        throw new Refused('another leaf is missing or in the wrong place');
      }
      return leafNode(other.key, other.value_hash);
    }
    if (depth === 256) throw new Refused('the tree is not that deep');
    const right = path.slice();
    right[depth >> 3] = /** @type {number} */ (right[depth >> 3]) | (0x80 >> (depth & 7));
    const first = await walk(claims.filter((key) => bit(key, depth) === 0), path, depth + 1);
    const second = await walk(claims.filter((key) => bit(key, depth) === 1), right, depth + 1);
    return hash('JMT::IntrnalNode', first, second);
  };
  const computed = await walk(keys, new Uint8Array(32), 0);
  const used = hashAt === proof.hashes.length && otherAt === proof.others.length;
  if (!used || Math.ceil(shapeAt / 4) !== proof.shape.length) throw new Refused('something of the proof is left over');
  while (shapeAt % 4 !== 0) if (shape() !== 0) throw new Refused('unused bits are zero');
  if (!same(computed, root)) throw new Refused('the state says otherwise');
}

/**
 * @param {Uint8Array} key
 * @param {Uint8Array} path
 * @param {number} depth
 */
function sharesBits(key, path, depth) {
  for (let index = 0; index < depth; index += 1) if (bit(key, index) !== bit(path, index)) return false;
  return true;
}
