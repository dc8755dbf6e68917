// Checks a proof file without asking the server: an independent reader of docs/format.md, section 11.
//
// It knows the two claims that a page can meet: a memory says this, and no memory has this id. What it gives holds for
// the state with the root it computed; whether that root is the right one is for the reader to compare.

import { decode, Refused } from './cbor.js';
import { checkAbsent, checkInclusion, checkPresent, hash, headKey, inclusionProof, multiProof, treeProof, same, u64 } from './merkle.js';
import * as records from './records.js';

/** @typedef {{actor: string, root: string, size: number, claim: 'memory' | 'no_memory', id: number, version: number,
 *   title: string, content: string, by: string, created: number, forgotten: boolean, shown: boolean}} Checked */

const FILE_BYTES_MAX = 64 * 1024 * 1024;
const ACTOR = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const TYPES = [1, 2, 3, 4, 5, 6, 7, 8, 9];

const roots = records.record({
  0: ['size', records.uint], 1: ['journal', records.digest], 2: ['heads', records.digest], 3: ['edges', records.digest],
});
/** @param {import('./cbor.js').CborValue} value */
const text = (value) => {
  if (typeof value !== 'string') throw new Refused('a text is expected');
  return value;
};
const file = records.record({
  0: ['schema', records.uint], 1: ['actor', text], 2: ['roots', roots], 3: ['claim', records.variant],
});
/** @param {import('./cbor.js').CborValue} value */
const raw = (value) => value;
const memoryClaim = records.record({
  0: ['head', raw], 1: ['version', raw], 2: ['sealed', records.sealed, 'optional'], 3: ['head_proof', treeProof],
  4: ['entry', records.bytes], 5: ['entry_proof', inclusionProof],
});

/**
 * Throws `Refused` with the reason if anything does not hold.
 * @param {Uint8Array} given the proof file
 * @returns {Promise<Checked>}
 */
export async function check(given) {
  if (given.length > FILE_BYTES_MAX) throw new Refused('the file is too large');
  const proof = file(decode(given));
  if (proof.schema !== 1) throw new Refused(`the file has schema ${proof.schema}, not 1`);
  if (!ACTOR.test(proof.actor) || proof.actor.includes('..')) throw new Refused('the name of the actor is not legal');
  const root = hex(await overallRoot(proof.actor, proof.roots));
  const { code, fields } = proof.claim;
  const common = { actor: proof.actor, root, size: proof.roots.size };
  if (code === 1 && fields.length === 1) {
    return { ...common, ...(await memory(proof.roots, memoryClaim(fields[0]))) };
  }
  if (code === 2 && fields.length === 2) {
    const id = records.id(fields[0]);
    await checkAbsent(proof.roots.heads, TYPES.map((type) => headKey(type, id)), multiProof(fields[1]));
    return { ...common, claim: 'no_memory', id, version: 0, title: '', content: '', by: '', created: 0, forgotten: false, shown: false };
  }
  throw new Refused('this page checks proofs of memories; `cortex verify-proof` checks all kinds');
}

/**
 * @param {any} at the roots of the file
 * @param {any} claim
 */
async function memory(at, claim) {
  const head = records.head(claim.head);
  const version = records.version(claim.version);
  const key = headKey(head.memory_type, head.id);
  await checkPresent(at.heads, key, await hash('cortex/head/1', claim.head.source), claim.head_proof);
  const versionHash = await hash('cortex/version/1', claim.version.source);
  if (version.id !== head.id || version.n !== head.version || !same(versionHash, head.version_hash)) {
    throw new Refused('the version is not the one the head names');
  }
  let body = null;
  if (claim.sealed) {
    if (claim.sealed.salt.length !== 16) throw new Refused('a salt has 16 bytes');
    if (!same(await hash('cortex/body/1', claim.sealed.salt, claim.sealed.bytes), version.body_hash)) {
      throw new Refused('the body is not the one the version names');
    }
    body = records.readBody(claim.sealed.bytes);
  }
  await written(at, claim, head, version);
  /** @type {Omit<Checked, 'actor' | 'root' | 'size'>} */
  const checked = {
    claim: 'memory', id: head.id, version: version.n, title: body?.title ?? '', content: body?.content ?? '', by: version.by,
    created: version.created, forgotten: head.tombstone !== null, shown: body !== null,
  };
  return checked;
}

/**
 * The journal entry that the claim shows is in the journal and wrote this version.
 * @param {any} at
 * @param {any} claim
 * @param {any} head
 * @param {any} version
 */
async function written(at, claim, head, version) {
  const entry = records.readEntry(claim.entry);
  if (entry.schema !== 1 || entry.seq !== version.seq || entry.seq === 0) throw new Refused('the entry is another one');
  await checkInclusion(await hash(0, claim.entry), entry.seq - 1, at.size, claim.entry_proof.path, at.journal);
  let says;
  if (entry.kind === 1) says = { id: entry.seq, version: 1, body: records.write(decode(entry.payload)).body_hash };
  else if (entry.kind === 2) {
    const update = records.update(decode(entry.payload));
    says = { id: update.id, version: update.version, body: update.body_hash };
  } else throw new Refused('the entry does not write a version');
  if (says.id !== head.id || says.version !== version.n || !same(says.body, version.body_hash)) {
    throw new Refused('the entry wrote another version');
  }
}

/**
 * Section 10.1.
 * @param {string} actor
 * @param {any} at
 */
function overallRoot(actor, at) {
  const name = new TextEncoder().encode(actor);
  return hash('cortex/root/1', Uint8Array.of(0, 0, 0, 1, 1, name.length), name, u64(at.size), at.journal, at.heads, at.edges);
}

/** @param {Uint8Array} bytes */
export function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** @param {string} text in base64 */
export function fromBase64(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}
