// The verifier of the page against files that the kernel wrote (fixtures/proofs.json), and against altered ones.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { decode, Refused } from '../../../crates/http/web/lib/cbor.js';
import { headKey } from '../../../crates/http/web/lib/merkle.js';
import { check, fromBase64, hex } from '../../../crates/http/web/lib/proof.js';

/** @type {{id: number, exists: boolean, root: string, size: number, title: string, version: number, proof: string}[]} */
const FIXTURES = JSON.parse(readFileSync(new URL('../fixtures/proofs.json', import.meta.url), 'utf8'));

test('what the kernel wrote holds, and says what the memory says', async () => {
  for (const fixture of FIXTURES) {
    const checked = await check(fromBase64(fixture.proof));
    assert.equal(checked.root, fixture.root);
    assert.equal(checked.size, fixture.size);
    assert.equal(checked.claim, fixture.exists ? 'memory' : 'no_memory');
    assert.deepEqual([checked.id, checked.title, checked.version], [fixture.id, fixture.title, fixture.version]);
  }
});

// W24, the half that needs no daemon: a bit that is flipped anywhere is refused, or leads to another root.
test('a file that was altered in any single byte is never believed', async () => {
  for (const fixture of FIXTURES) {
    const whole = fromBase64(fixture.proof);
    for (let at = 0; at < whole.length; at += 1) {
      const altered = whole.slice();
      altered[at] = /** @type {number} */ (altered[at]) ^ (1 << (at % 8));
      const claim = await check(altered).then((checked) => `${checked.root} ${checked.id}`, (error) => {
        assert.ok(error instanceof Refused, `${fixture.id} at ${at}: ${error}`);
        return '';
      });
      // A proof that one memory is absent may truly prove the same of another id; then that is what it says.
      assert.ok(claim === '' || claim !== `${fixture.root} ${fixture.id}`, `${fixture.id} at ${at}`);
      assert.ok(claim === '' || !claim.startsWith(fixture.root) || !fixture.exists, `${fixture.id} at ${at}`);
    }
  }
});

test('a file that is cut off or goes on is refused', async () => {
  const whole = fromBase64(FIXTURES[0]?.proof ?? '');
  await assert.rejects(check(whole.slice(0, -1)), Refused);
  await assert.rejects(check(Uint8Array.of(...whole, 0)), Refused);
  await assert.rejects(check(new Uint8Array()), Refused);
});

test('keys of heads are those of docs/format.md, 9.1', () => {
  const start = (/** @type {number} */ id) => hex(headKey(3, id)).slice(0, 22);
  assert.deepEqual([1, 2, 3, 65_537].map(start), ['0300000000000000000000', '0301000000000000000000', '0301800000000000000000', '0310000100000000000000']);
});

test('only one encoding is read', () => {
  const bytes = (/** @type {string} */ text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  assert.equal(decode(bytes('1818')), 24);
  assert.equal(decode(bytes('1b0020000000000000')), 2n ** 53n);
  const refused = ['1817', '190018', '1a00000018', '1b0000000000000001', '5f40ff', '9fff', 'bfff', 'f6', 'f7', 'fb3ff0000000000000', 'c000', 'a201000000', 'a2000000', 'a1', '62c328', '0000', '9b7fffffffffffffff'];
  for (const text of refused) assert.throws(() => decode(bytes(text)), Refused, text);
});
